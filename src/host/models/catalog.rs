//! The dated table of models (L4): per provider the one that is used by default and one for each
//! role that has one. Which provider is used is decided elsewhere, and never here.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

use crate::engine::ports::ResolvedModel;
use crate::engine::routine::definition::ModelRole;
use crate::host::models::provider::{ModelNameError, Provider, parse_model};

/// The table that ships with this version.
static SHIPPED: LazyLock<ModelPolicy> = LazyLock::new(|| {
    let text = include_str!(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/assets/model-policy.json"
    ));
    serde_json::from_str(text).expect("BUG: the shipped model policy can't be read")
});

/// A dated table of models.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelPolicy {
    version: String,
    providers: BTreeMap<Provider, ProviderModels>,
    /// Roles that the configuration names; they win over the table.
    #[serde(skip)]
    configured: BTreeMap<(Provider, ModelRole), String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct ProviderModels {
    default: String,
    roles: BTreeMap<ModelRole, String>,
}

/// What an agent's definition says about its model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AgentModel<'a> {
    /// `provider/model`; wins over the role.
    pub model: Option<&'a str>,
    /// A role of the table.
    pub role: Option<ModelRole>,
}

impl ModelPolicy {
    /// The table that ships with this version.
    pub fn shipped() -> &'static Self {
        &SHIPPED
    }

    /// The table's date.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// The table with a role of the configuration put in.
    #[must_use]
    pub fn with_role(mut self, provider: Provider, role: ModelRole, model: String) -> Self {
        self.configured.insert((provider, role), model);
        self
    }

    /// The model that a provider is asked for when none was named.
    pub fn default_model(&self, provider: Provider) -> ResolvedModel {
        let model = match self.providers.get(&provider) {
            Some(models) => models.default.clone(),
            None => provider.name().to_owned(),
        };
        ResolvedModel {
            provider: provider.name().to_owned(),
            model,
            role: None,
            policy_version: Some(self.version.clone()),
        }
    }

    /// The model of an agent: its own, else its role's with the selected provider, else the
    /// selected one. The provider is never changed for the user (L4).
    pub fn resolve(
        &self,
        agent: AgentModel<'_>,
        selected: &ResolvedModel,
    ) -> Result<ResolvedModel, ModelNameError> {
        if let Some(model) = agent.model {
            return exact(model);
        }
        let by_role = agent.role.and_then(|role| self.by_role(role, selected));
        Ok(by_role.unwrap_or_else(|| selected.clone()))
    }

    fn by_role(&self, role: ModelRole, selected: &ResolvedModel) -> Option<ResolvedModel> {
        let provider = Provider::from_name(&selected.provider)?;
        let of_policy = || {
            let model = self.providers.get(&provider)?.roles.get(&role)?;
            Some((model, Some(self.version.clone())))
        };
        let configured = self.configured.get(&(provider, role));
        let (model, policy_version) = configured.map(|m| (m, None)).or_else(of_policy)?;
        Some(ResolvedModel {
            provider: selected.provider.clone(),
            model: model.clone(),
            role: Some(role),
            policy_version,
        })
    }
}

/// A model that was named exactly.
pub(crate) fn exact(text: &str) -> Result<ResolvedModel, ModelNameError> {
    let (provider, model) = parse_model(text)?;
    Ok(ResolvedModel {
        provider: provider.name().to_owned(),
        model,
        role: None,
        policy_version: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolve(agent: AgentModel<'_>, selected: &str) -> String {
        let selected = exact(selected).expect("model");
        ModelPolicy::shipped()
            .resolve(agent, &selected)
            .expect("resolved")
            .to_string()
    }

    #[test]
    fn the_shipped_table_has_a_date_and_every_provider() {
        let policy = ModelPolicy::shipped();
        assert!(policy.version().parse::<jiff::civil::Date>().is_ok());
        for provider in Provider::ALL {
            assert!(policy.providers.contains_key(&provider), "{provider}");
        }
    }

    #[test]
    fn an_agents_own_model_wins_over_its_role_and_the_role_over_the_selected_one() {
        // L4
        let role = Some(ModelRole::Frontier);
        let own = AgentModel {
            model: Some("ollama/llama3.2:3b"),
            role,
        };
        assert_eq!(resolve(own, "anthropic/x"), "ollama/llama3.2:3b");
        let by_role = AgentModel { model: None, role };
        assert_eq!(resolve(by_role, "anthropic/x"), "anthropic/claude-opus-4-8");
        assert_eq!(resolve(AgentModel::default(), "openai/x"), "openai/x");
    }

    #[test]
    fn a_role_that_the_provider_lacks_leaves_the_selected_model() {
        let agent = AgentModel {
            model: None,
            role: Some(ModelRole::Expert),
        };
        assert_eq!(resolve(agent, "ollama/qwen3"), "ollama/qwen3");
        assert_eq!(resolve(agent, "offline"), "offline/offline");
    }

    #[test]
    fn the_table_is_named_only_where_it_resolved() {
        let agent = AgentModel {
            model: None,
            role: Some(ModelRole::Instant),
        };
        let selected = exact("openai/x").expect("model");
        let policy = ModelPolicy::shipped().clone();
        let resolved = policy.resolve(agent, &selected).expect("resolved");
        assert_eq!(resolved.role, Some(ModelRole::Instant));
        assert_eq!(resolved.policy_version.as_deref(), Some(policy.version()));
        let configured =
            policy.with_role(Provider::OpenAi, ModelRole::Instant, "tiny/one".to_owned());
        let resolved = configured.resolve(agent, &selected).expect("resolved");
        assert_eq!(resolved.to_string(), "openai/tiny/one");
        assert_eq!(resolved.policy_version, None);
    }
}

//! Settings from flags, a made-up environment and real files.

use secrecy::ExposeSecret;

use super::*;
use crate::engine::routine::definition::ModelRole;

/// Settings from these variables and this file's content.
fn load(
    flags: &Flags,
    variables: &[(&str, &str)],
    content: Option<&str>,
) -> Result<Settings, String> {
    let folder = tempfile::tempdir().expect("a folder");
    if let Some(content) = content {
        std::fs::write(folder.path().join("config.toml"), content).expect("written");
    }
    let folders = PlatformFolders {
        config: Some(folder.path().to_owned()),
        data: Some(PathBuf::from("/home/me/data")),
    };
    let environment = |name: &str| {
        let found = variables.iter().find(|(variable, _)| *variable == name);
        found.map(|(_, value)| OsString::from(value))
    };
    Settings::load(flags, &environment, &folders).map_err(|error| error.to_string())
}

fn from_file(content: &str) -> Result<Settings, String> {
    load(&Flags::default(), &[], Some(content))
}

// C5
#[test]
fn without_anything_there_are_defaults() {
    let settings = load(&Flags::default(), &[], None).expect("settings");
    assert_eq!(settings.model, None);
    assert_eq!(settings.limits, ChosenLimits::default());
    assert_eq!(settings.data_folder, PathBuf::from("/home/me/data"));
    assert_eq!(settings.colour, Colour::Allowed);
    assert!(settings.providers.openai_key.is_none() && settings.agents.is_empty());
}

// C5
#[test]
fn flags_win_over_the_environment_and_the_environment_over_the_file() {
    let file = Some("model = \"ollama/a\"");
    let variables = [("AMOS_MODEL", "ollama/b")];
    let flags = Flags {
        model: Some("ollama/c".to_owned()),
        allow: Vec::new(),
    };
    let model = |settings: Result<Settings, String>| {
        let model = settings.expect("settings").model.expect("a model");
        (model.name, model.by)
    };
    let none = Flags::default();
    assert_eq!(
        model(load(&none, &[], file)),
        ("ollama/a".to_owned(), ChosenBy::File)
    );
    assert_eq!(
        model(load(&none, &variables, file)),
        ("ollama/b".to_owned(), ChosenBy::Environment)
    );
    assert_eq!(
        model(load(&flags, &variables, file)),
        ("ollama/c".to_owned(), ChosenBy::Flag)
    );
    assert_eq!(
        model(load(&none, &[("AMOS_MODEL", "")], file)),
        ("ollama/a".to_owned(), ChosenBy::File)
    );
}

#[test]
fn a_file_holds_permissions_agents_and_limits() {
    let settings = from_file(
        r#"
            [permissions]
            run_command = "allow"
            "server.tool" = "deny"
            [agents.writer]
            role = "expert"
            instructions = "You write."
            tools = ["read_file"]
            reasoning_effort = "low"
            max_output_tokens = 500
            [limits]
            max_observation_bytes = 8192
        "#,
    )
    .expect("settings");
    assert_eq!(settings.permissions.policy("run_command"), Policy::Allow);
    assert_eq!(settings.permissions.policy("server.tool"), Policy::Deny);
    assert_eq!(settings.agents["writer"].role, Some(ModelRole::Expert));
    assert_eq!(settings.agents["writer"].max_output_tokens, Some(500));
    assert_eq!(settings.limits.max_observation_bytes, 8192);
    assert_eq!(settings.limits.max_active_operations, 32);
}

// M6
#[test]
fn the_allow_flag_wins_over_the_file() {
    let flags = Flags {
        model: None,
        allow: vec!["run_command".to_owned()],
    };
    let file = "permissions = { run_command = \"deny\" }";
    let settings = load(&flags, &[], Some(file)).expect("settings");
    assert_eq!(settings.permissions.policy("run_command"), Policy::Allow);
}

#[test]
fn what_is_unknown_or_out_of_range_names_what_was_meant() {
    for (content, part) in [
        ("modle = \"x\"", "unknown key modle; did you mean model?"),
        ("[limit]", "did you mean limits?"),
        (
            "[limits]\nmax_observations_bytes = 1",
            "did you mean max_observation_bytes?",
        ),
        (
            "[agents.a]\ninstruction = \"x\"",
            "key agents.a.instruction; did you mean instructions?",
        ),
        (
            "[permissions]\nrun_comand = \"ask\"",
            "did you mean run_command?",
        ),
        ("[permissions]\nmemory_set = \"ask\"", "always allowed"),
        ("[permissions]\nrun_command = \"maybe\"", "line 2"),
        ("model = 1", "line 1"),
        ("model = ", "line 1"),
        (
            "[limits]\nmax_observation_bytes = 8191",
            "from 8192 to 67108864, not 8191",
        ),
        (
            "[limits]\nmax_active_operations = 0",
            "from 1 to 1000, not 0",
        ),
    ] {
        let error = from_file(content).expect_err(content);
        assert!(error.contains(part), "{content}: {error}");
        assert!(error.contains("config.toml"), "{error}");
    }
}

// C5
#[test]
fn a_named_file_that_is_missing_means_defaults_and_one_that_is_no_file_is_an_error() {
    let none = Flags::default();
    let absent = [("AMOS_CONFIG", "/nowhere/at/all.toml")];
    assert_eq!(
        load(&none, &absent, Some("model = \"a\""))
            .expect("settings")
            .model,
        None
    );
    let error = load(&none, &[("AMOS_CONFIG", "/dev/zero")], None).expect_err("no file");
    assert!(error.contains("no regular file"), "{error}");
}

#[test]
fn without_a_home_only_the_data_folder_has_to_be_named() {
    let homeless = PlatformFolders::default();
    let none = Flags::default();
    let error = Settings::load(&none, &|_| None, &homeless)
        .expect_err("no home")
        .to_string();
    assert!(error.contains("no home folder"), "{error}");
    let data = |name: &str| (name == "AMOS_DATA_DIR").then(|| OsString::from("/data"));
    let settings = Settings::load(&none, &data, &homeless).expect("settings");
    assert_eq!(
        (settings.data_folder, settings.config_file),
        (PathBuf::from("/data"), None)
    );
}

// M4
#[test]
fn keys_and_addresses_are_taken_and_never_shown() {
    let variables = [
        ("OPENAI_API_KEY", "sk-secret"),
        ("OPENAI_BASE_URL", "http://localhost/v1"),
        ("GEMINI_API_KEY", "gm-secret"),
        ("ANTHROPIC_API_KEY", ""),
        ("OLLAMA_HOST", "localhost:1"),
        ("NO_COLOR", "1"),
    ];
    let settings = load(&Flags::default(), &variables, None).expect("settings");
    let key = settings
        .providers
        .openai_key
        .as_ref()
        .map(|key| key.expose_secret());
    assert_eq!(key, Some("sk-secret"));
    assert!(settings.providers.anthropic_key.is_none());
    assert!(settings.providers.ollama_host.is_some());
    assert_eq!(settings.colour, Colour::Off);
    let shown = format!("{settings:?}");
    assert!(!shown.contains("secret"), "{shown}");
}

// M4
#[test]
fn an_address_that_holds_a_password_is_refused_without_showing_it() {
    let variables = [("OPENAI_BASE_URL", "http://me:secret@localhost/v1")];
    let error = load(&Flags::default(), &variables, None).expect_err("refused");
    let shown = error.to_string();
    assert!(
        shown.contains("OPENAI_BASE_URL") && !shown.contains("secret"),
        "{shown}"
    );
}

//! What the models of the random world answer, by what they are asked for (G4, G11).
//!
//! Whatever is said has a number of its own, so that a thing that turns up where it doesn't belong is
//! known by it.

use bytes::Bytes;
use serde_json::{Value, json};

use crate::engine::evidence::Place;
use crate::engine::operation::outcome::Verdict;
use crate::engine::operation::tests::simulator::answers::Manner;
use crate::engine::operation::tests::simulator::chance::Chance;
use crate::engine::operation::tests::simulator::world::{Kind, World};
use crate::engine::ports::{
    CallArguments, Finish, Message, ModelAnswer, ModelOutcome, ModelReply, ModelRequest,
    TokenUsage, ToolCall,
};

/// What a request asks for, told by the tools that it offers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Role {
    /// A verdict; after a vote it has to be a certain one. A dynamic council's leader may ask members.
    Route {
        must: Option<Verdict>,
        asks: Vec<String>,
    },
    /// Words.
    Say,
    /// A vote.
    Vote,
    /// A part for each member.
    Assign { members: Vec<String> },
}

impl Role {
    pub(super) fn of(call: &ModelRequest) -> Self {
        let is_offered = |name: &str| call.tools.iter().any(|tool| tool.name == name);
        if is_offered("cast_vote") {
            return Self::Vote;
        }
        if let Some(tool) = call.tools.iter().find(|tool| tool.name == "assign_parts") {
            let required = &tool.schema["properties"]["parts"]["required"];
            let members = required.as_array().into_iter().flatten();
            return Self::Assign {
                members: members
                    .filter_map(|it| it.as_str().map(str::to_owned))
                    .collect(),
            };
        }
        if !is_offered("route_next_steps") {
            return Self::Say;
        }
        let told = match call.messages.first().map(|message| &**message) {
            Some(Message::User(text)) => text.as_str(),
            _ => "",
        };
        let must = |word: &str| told.contains(&format!("so the verdict is \"{word}\""));
        Self::Route {
            must: match (must("pass"), must("fail")) {
                (true, _) => Some(Verdict::Pass),
                (false, true) => Some(Verdict::Fail),
                (false, false) => None,
            },
            asks: call
                .tools
                .iter()
                .filter_map(|tool| tool.name.strip_prefix("ask_").map(str::to_owned))
                .collect(),
        }
    }
}

/// Whoever answers for the models.
pub(super) struct Models<'a> {
    pub(super) chance: &'a mut Chance,
    pub(super) manner: Manner,
    pub(super) world: &'a World,
    /// How much was said so far.
    pub(super) said: &'a mut u64,
}

impl Models<'_> {
    /// What a model makes of a request.
    pub(super) fn reply(&mut self, place: &Place, role: &Role) -> ModelReply {
        let is_gate = self.world.kind(&place.step) == Some(Kind::AgentGate);
        let is_leader = matches!(role, Role::Route { asks, .. } if !asks.is_empty());
        let fails = match role {
            Role::Vote => 40,
            Role::Route { must: Some(_), .. } => 8,
            Role::Route { .. } if is_gate => 30,
            Role::Route { .. } | Role::Say | Role::Assign { .. } => 2,
        };
        let acts = if is_leader { 60 } else { 22 };
        let choice = match self.manner {
            Manner::Kind => 0,
            Manner::Mild if fails > 2 => self.chance.weighed(&[60, 20, 2, 2, 10]),
            Manner::Mild => self.chance.weighed(&[80, 0, 2, 2, 16]),
            Manner::Wild => self
                .chance
                .weighed(&[50, fails, 7, 4, acts, 1, 1, 1, 1, 1, 1]),
        };
        let outcome = match choice {
            0 => self.ends(place, role, Verdict::Pass),
            1 => self.ends(place, role, Verdict::Fail),
            2 => self.ends_wrongly(place, role),
            3 => answered(Some(" ".into()), Vec::new(), Finish::Complete),
            4 => self.calls(place, role),
            5 => match self.ends(place, role, Verdict::Pass) {
                ModelOutcome::Answered(answer) => {
                    answered(answer.text, answer.calls, Finish::CutOff)
                }
                other => other,
            },
            6 => {
                let reason = "no".into();
                answered(Some("sorry".into()), Vec::new(), Finish::Refused { reason })
            }
            7 => ModelOutcome::NotTaken {
                reason: "overloaded".into(),
            },
            8 => ModelOutcome::NoAnswer {
                reason: "reset".into(),
            },
            9 => ModelOutcome::Unreadable {
                reason: "html".into(),
            },
            _ => ModelOutcome::Stopped,
        };
        let response = match &outcome {
            ModelOutcome::Answered(_) | ModelOutcome::Unreadable { .. } => "response",
            ModelOutcome::NotTaken { .. }
            | ModelOutcome::NoAnswer { .. }
            | ModelOutcome::Stopped => "",
        };
        ModelReply {
            outcome,
            request: Bytes::from_static(b"request"),
            response: Bytes::from_static(response.as_bytes()),
        }
    }

    fn number(&mut self) -> u64 {
        *self.said += 1;
        *self.said
    }

    /// What ends the run as it is meant to end.
    fn ends(&mut self, place: &Place, role: &Role, verdict: Verdict) -> ModelOutcome {
        match role {
            Role::Say => {
                let said = format!("said-{}", self.number());
                answered(Some(said), Vec::new(), Finish::Complete)
            }
            Role::Route { .. } | Role::Vote | Role::Assign { .. } => {
                let call = self.ending(place, role, verdict);
                called(vec![call])
            }
        }
    }

    fn ending(&mut self, place: &Place, role: &Role, verdict: Verdict) -> ToolCall {
        let number = self.number();
        match role {
            Role::Vote => {
                let reasoning = format!("said-{number}");
                let args = json!({ "verdict": verdict.label(), "reasoning": reasoning });
                call("cast_vote", args)
            }
            Role::Assign { members } => {
                let part = |it: &String| (it.clone(), json!(format!("said-{number}-{it}")));
                let parts: serde_json::Map<String, Value> = members.iter().map(part).collect();
                call("assign_parts", json!({ "parts": parts }))
            }
            // The other verdict than the vote's: its leader tries to overrule it.
            Role::Route { must, .. } => {
                let verdict = match (must, verdict) {
                    (Some(Verdict::Fail), Verdict::Pass) => Verdict::Fail,
                    (Some(Verdict::Fail), Verdict::Fail) => Verdict::Pass,
                    (Some(Verdict::Pass) | None, verdict) => verdict,
                };
                self.routed(place, verdict, number)
            }
            Role::Say => call("route_next_steps", json!({ "said": number })),
        }
    }

    fn routed(&mut self, place: &Place, verdict: Verdict, number: u64) -> ToolCall {
        let next: Vec<Value> = self
            .world
            .edges()
            .filter(|edge| edge.from == place.step && edge.on_fail == (verdict == Verdict::Fail))
            .map(|edge| {
                json!({ "target_step": edge.to, "handoff": { "k": 1, "lap": place.lap, "z": 0 } })
            })
            .collect();
        let output = match self.chance.percent(4) {
            true => Value::String("long ".repeat(2_000)),
            false => json!({ "of": place.step, "items": [1, 2], "said": number }),
        };
        let args = json!({
            "verdict": verdict.label(),
            "reasoning": "because",
            "output": output,
            "next_steps": next,
        });
        call("route_next_steps", args)
    }

    fn ends_wrongly(&mut self, place: &Place, role: &Role) -> ModelOutcome {
        let mut right = self.ending(place, role, Verdict::Pass);
        right.arguments = match (right.arguments, self.chance.below(5), role) {
            (CallArguments::Json(mut args), 0, Role::Route { .. }) => {
                args["next_steps"] = json!([{ "target_step": "nowhere", "handoff": { "k": 1 } }]);
                CallArguments::Json(args)
            }
            (CallArguments::Json(mut args), 0, Role::Assign { .. }) => {
                args["parts"]["nobody"] = json!("more");
                CallArguments::Json(args)
            }
            (CallArguments::Json(mut args), 1, Role::Assign { members }) => {
                args["parts"][&members[0]] = json!(" ");
                CallArguments::Json(args)
            }
            (CallArguments::Json(_), 0 | 1, Role::Say) => CallArguments::Json(json!({})),
            (CallArguments::Json(mut args), 0 | 1, Role::Route { .. } | Role::Vote) => {
                args["reasoning"] = json!(" ");
                CallArguments::Json(args)
            }
            (CallArguments::Json(mut args), 2, Role::Route { .. } | Role::Vote) => {
                args["verdict"] = json!("maybe");
                CallArguments::Json(args)
            }
            (CallArguments::Json(_), 3, _) => CallArguments::Json(json!([])),
            _ => CallArguments::Malformed("{\"verdict\":".into()),
        };
        called(vec![right])
    }

    fn calls(&mut self, place: &Place, role: &Role) -> ModelOutcome {
        let asks: &[String] = match role {
            Role::Route { asks, .. } => asks,
            Role::Say | Role::Vote | Role::Assign { .. } => &[],
        };
        let mut calls: Vec<ToolCall> = (0..1 + self.chance.below(3))
            .map(|_| match self.chance.pick(asks) {
                Some(member) if self.chance.percent(70) => {
                    let member = member.clone();
                    self.question(&member)
                }
                Some(_) | None => self.act(),
            })
            .collect();
        if self.chance.percent(10) {
            calls.push(self.ending(place, role, Verdict::Pass));
        }
        if self.chance.percent(5) {
            calls.push(ToolCall {
                id: "m".into(),
                name: "look".into(),
                arguments: CallArguments::Malformed("{".into()),
            });
        }
        called(calls)
    }

    fn question(&mut self, member: &str) -> ToolCall {
        let message = match self.chance.percent(5) {
            true => " ".into(),
            false => format!("said-{}", self.number()),
        };
        call(&format!("ask_{member}"), json!({ "message": message }))
    }

    fn act(&mut self) -> ToolCall {
        let name = self.chance.word(&[
            "act",
            "act",
            "commit",
            "look",
            "look",
            "memory_get",
            "memory_list",
            "memory_set",
            "ghost",
            "ask_a0",
            "cast_vote",
        ]);
        let args = match name {
            "memory_set" => json!({ "key": "k", "value": 1 }),
            "memory_get" => json!({ "key": "k" }),
            _ => json!({ "said": self.number() }),
        };
        call(name, args)
    }
}

fn answered(text: Option<String>, calls: Vec<ToolCall>, finish: Finish) -> ModelOutcome {
    ModelOutcome::Answered(ModelAnswer {
        text,
        calls,
        finish,
        usage: TokenUsage {
            input_tokens: 3,
            output_tokens: 2,
        },
    })
}

fn called(calls: Vec<ToolCall>) -> ModelOutcome {
    answered(None, calls, Finish::Complete)
}

fn call(name: &str, arguments: Value) -> ToolCall {
    ToolCall {
        id: "c".into(),
        name: name.to_owned(),
        arguments: CallArguments::Json(arguments),
    }
}

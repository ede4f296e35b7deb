//! What the built-in model answers (M1).

use super::*;

#[tokio::test]
async fn the_offline_model_passes_with_a_handoff_for_each_target_of_a_pass() {
    // M1, G4
    let models = models_at("http://127.0.0.1:1");
    let (reply, announced) = call(&models, request(Provider::Offline)).await;
    assert_eq!(announced, [1]);
    let CallArguments::Json(arguments) = &answer(&reply).calls[0].arguments else {
        panic!("malformed");
    };
    assert_eq!(arguments["verdict"], "pass");
    assert_eq!(arguments["output"], "offline answer to: Do the step.");
    assert_eq!(
        arguments["next_steps"],
        json!([{ "target_step": "next", "handoff": { "notes": "made by the offline model" } }])
    );
    assert!(jsonschema::is_valid(&route_tool().schema, arguments));
    for bytes in [&reply.request, &reply.response] {
        let json: Value = serde_json::from_slice(bytes).expect("json");
        assert_eq!(json.to_string().as_bytes(), &bytes[..], "not canonical");
    }
}

#[tokio::test]
async fn the_offline_model_calls_any_forced_tool_and_else_says_a_sentence() {
    let models = models_at("http://127.0.0.1:1");
    let mut asked = request(Provider::Offline);
    asked.tools = Arc::new([OfferedTool {
        name: "score".to_owned(),
        description: String::new(),
        schema: json!({ "type": "object", "required": ["is_complete", "score"], "properties": {
            "is_complete": { "type": "boolean" }, "score": { "type": "number", "maximum": 100 },
        } }),
    }]);
    asked.tool_choice = ToolChoice::Forced("score".to_owned());
    let (reply, _) = call(&models, asked.clone()).await;
    let expected = CallArguments::Json(json!({ "is_complete": true, "score": 100.0 }));
    assert_eq!(answer(&reply).calls[0].arguments, expected);
    asked.tool_choice = ToolChoice::Auto;
    let (reply, _) = call(&models, asked).await;
    assert_eq!(answer(&reply).calls, []);
    assert!(answer(&reply).text.is_some());
}

#[tokio::test]
async fn the_offline_model_ends_a_run_beside_tools_of_all_kinds() {
    // G11: a member with tools of its own votes, a leader with some gives the parts.
    let tool = |name: &str, schema: Value| OfferedTool {
        name: name.to_owned(),
        description: String::new(),
        schema,
    };
    let any = json!({ "type": "object" });
    let vote = json!({ "type": "object", "required": ["verdict", "reasoning"], "properties": {
        "verdict": { "enum": ["pass", "fail"] }, "reasoning": { "type": "string", "minLength": 1 },
    } });
    let parts = json!({ "type": "object", "required": ["parts"], "properties": { "parts": {
        "type": "object", "required": ["a"], "properties": { "a": { "type": "string", "minLength": 1 } },
    } } });
    for (name, schema) in [("cast_vote", vote), ("assign_parts", parts)] {
        let models = models_at("http://127.0.0.1:1");
        let mut asked = request(Provider::Offline);
        asked.tools = Arc::new([
            tool("ask_b", any.clone()),
            tool("look", any.clone()),
            tool(name, schema.clone()),
        ]);
        asked.tool_choice = ToolChoice::Auto;
        let (reply, _) = call(&models, asked).await;
        let called = &answer(&reply).calls[0];
        let CallArguments::Json(arguments) = &called.arguments else {
            panic!("malformed");
        };
        assert_eq!(called.name, name);
        assert!(jsonschema::is_valid(&schema, arguments), "{arguments}");
    }
}

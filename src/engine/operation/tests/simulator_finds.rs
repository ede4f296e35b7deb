//! What the simulator found, told as stories.

use super::*;

/// Seed 3265 (V25): two members of a council, given up with the iteration around it, were each told
/// to have gone out, and the step's lap was submitted twice.
#[test]
fn a_council_that_is_given_up_with_its_iteration_is_submitted_once() {
    let nested = "routine: { steps: [{ slug: both, type: council, council: c }] }";
    let text = format!(
        "routine: story\nagents: {{ a: {{}}, b: {{}}, lead: {{}}, judge: {{}} }}\n\
         councils: {{ c: {{ leader: lead, members: [a, b], strategy: broadcast }} }}\n\
         entry_steps: [again]\nsteps:\n\
         - {{ slug: again, type: tool, tool: look }}\n\
         - {{ slug: each, type: until, stop_when: {{ memory_key: k, operator: exists }}, {nested} }}\n\
         - {{ slug: check, type: gate, agent: judge }}\n\
         - {{ slug: done, type: terminal }}\n\
         edges:\n\
         - {{ from: again, to: each }}\n- {{ from: again, to: check }}\n\
         - {{ from: each, to: done }}\n\
         - {{ from: check, to: done, condition: on_pass }}\n\
         - {{ from: check, to: again, condition: on_fail }}\n"
    );
    let mut it = story(&text).start();
    it.tool("again", done(json!({})));
    it.answer("check", fail());
    let submitted = |it: &Play| {
        let events = it.published.iter();
        let of_council = events.filter(|event| {
            matches!(event, PublicEvent::StepSubmitted { at } if at.step.as_deref() == Some("both"))
        });
        of_council.count()
    };
    // What their iteration gave up is told to have gone out, late.
    assert_eq!(submitted(&it), 1);
    for asked in it
        .asked
        .iter()
        .map(|asked| asked.request)
        .collect::<Vec<_>>()
    {
        it.tell(Event::RequestSent {
            request: asked,
            attempt: 1,
        });
    }
    assert_eq!(submitted(&it), 1);
}

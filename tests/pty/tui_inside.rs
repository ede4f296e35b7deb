//! What is inside of steps, on the real binary: a council's members and tally, iterations and the way
//! into them.

use crate::app::{App, ENTER, ESCAPE, SIZES, TAB};

// G11: the demo's council votes; the engine counts.
#[test]
fn a_council_shows_its_votes_and_the_tally() {
    for size in SIZES {
        let mut app = App::offline(size);
        app.says("/routine demo review-council");
        app.sees("✓ succeeded");
        // Operations, then the graph; the council is the second step.
        app.key(TAB);
        app.key(TAB);
        app.sees("> Review with a council");
        app.key("g");
        app.key("j");
        app.sees("3/3 pass");
        app.key(ENTER);
        let screen = app.sees("3 of 3 passed, needs more than");
        for words in ["Council: vote", "leader chair answered", "facts voted pass"] {
            assert!(screen.contains(words), "no {words} on\n{screen}");
        }
    }
}

// V22: each iteration is an execution of its own, and can be looked at when it is over.
#[test]
fn iterations_are_looked_into_one_by_one() {
    for size in SIZES {
        let mut app = App::offline(size);
        app.says("/routine demo map-fold-until");
        app.sees("✓ succeeded");
        app.key(TAB);
        app.key(TAB);
        app.sees("> Map, fold and until");
        app.key("g");
        app.sees("3 of 3");
        app.key(ENTER);
        app.sees("map-fold-until > each (3 of 3): over");
        app.key("p");
        app.sees("each (2 of 3): over");
        app.key("n");
        app.sees("each (3 of 3): over");
        app.key(ESCAPE);
        app.sees("> Map, fold and until: succeeded");
        app.key("j");
        app.key("j");
        app.key(ENTER);
        let screen = app.sees("polish (1 of at most 3): over");
        assert!(screen.contains("shorten"), "{screen}");
        app.key(ESCAPE);
        app.sees("> Map, fold and until: succeeded");
    }
}

/// A map whose second iteration asks a person.
const ASKS: &str = "routine: each-asks
name: Each asks
entry_steps: [each]
pre_steps:
  - { name: list, tool: memory_set, args: { key: items, value: [a, b] } }
steps:
  - slug: each
    type: map
    source: { memory_key: items }
    routine:
      entry_steps: [allow]
      steps:
        - { slug: allow, type: gate, operator: true, instructions: 'Ship {{map.item}}?' }
        - { slug: done, type: terminal }
      edges:
        - { from: allow, to: done, condition: on_pass }
  - { slug: done, type: terminal }
edges:
  - { from: each, to: done }
";

// V6, V22: a wait inside of an iteration leads there.
#[test]
fn a_wait_inside_of_an_iteration_leads_there() {
    for size in SIZES {
        let mut app = App::offline(size);
        app.has_routine(ASKS);
        app.says("/routine run routine.yaml");
        let screen = app.sees("1 paused: F2");
        assert!(screen.contains("waiting allow ("), "{screen}");
        // Backwards: panel, waits.
        app.key(crate::app::BACK_TAB);
        app.key(crate::app::BACK_TAB);
        app.sees("> Waits (1)");
        app.key(ENTER);
        app.sees("each-asks > each (1 of 2): waiting");
        app.key(ESCAPE);
        app.sees("> Each asks: waiting");
        app.assert_nothing_was_confirmed();
    }
}

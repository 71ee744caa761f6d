//! What this crate and the page (`web/page/src/input`, `pointer`, `gamepad`) both hold to: `vectors.json` has the keys, acknowledgements,
//! shapes of the pointer, rumble, and what a player's end says, byte by byte and when.

use gameway_input::gamepad::{self, Answer, Missing, Reading, Rumble};
use gameway_input::{Acknowledgement, Button, Image, KEYS, Key, Player, Shape, Switch};
use gameway_units::{Duration, Instant};
use serde_json::Value;

fn vectors(part: &str) -> Value {
    let all: Value = serde_json::from_str(include_str!("../vectors.json")).expect("JSON");
    all[part].clone()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().expect("a list")
}

fn text(value: &Value) -> &str {
    value.as_str().expect("a text")
}

fn number<T: TryFrom<i64, Error: std::fmt::Debug>>(value: &Value) -> T {
    value.as_i64().expect("a number").try_into().expect("in bounds")
}

fn bytes(hexadecimal: &str) -> Vec<u8> {
    let digits = hexadecimal.as_bytes().chunks(2).map(|two| str::from_utf8(two).expect("digits"));
    digits.map(|two| u8::from_str_radix(two, 16).expect("digits")).collect()
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn at(millis: i64) -> Instant {
    Instant::ZERO + Duration::from_millis(millis)
}

/// What a player's end said, with milliseconds from the beginning.
#[derive(Default)]
struct Told {
    player: Player,
    messages: Vec<(i64, String)>,
}

impl Told {
    fn listen(&mut self, millis: i64) {
        while let Some(message) = self.player.poll(at(millis)) {
            self.messages.push((millis, hexadecimal(&message.to_bytes())));
        }
    }

    fn pass(&mut self, from: i64, until: i64) {
        (from..=until).for_each(|millis| self.listen(millis));
    }

    fn act(&mut self, action: &str, arguments: &[Value]) {
        let player = &mut self.player;
        match action {
            "key" | "button" => {
                let switch = if action == "key" {
                    Switch::Key(Key::named(text(&arguments[0])).expect("a key"))
                } else {
                    Switch::Button(Button::numbered(number(&arguments[0])).expect("a button"))
                };
                if arguments[1] == true {
                    player.press(switch)
                } else {
                    player.release(switch)
                };
            }
            "moveTo" => player.move_to((number(&arguments[0]), number(&arguments[1]))),
            "moveBy" => player.move_by((number(&arguments[0]), number(&arguments[1]))),
            "turn" => player.turn((number(&arguments[0]), number(&arguments[1]))),
            "type" => text(&arguments[0]).chars().for_each(|character| {
                player.type_character(character);
            }),
            "releaseAll" => player.release_all(),
            "answer" => {
                let answer = Acknowledgement::parse(&bytes(text(&arguments[0])));
                player.on_acknowledgement(&answer.expect("an acknowledgement"));
            }
            _ => panic!("{action}"),
        }
    }
}

#[test]
fn keys_are_those_of_the_vectors() {
    let keys = vectors("keys");
    let keys = keys.as_object().expect("keys by their codes");
    assert_eq!(keys.len(), KEYS.len());
    for known in KEYS {
        assert_eq!(keys[known.code], known.key.usage(), "{}", known.code);
    }
}

#[test]
fn acknowledgements_are_those_of_the_vectors() {
    for vector in list(&vectors("acknowledgements")) {
        let said = bytes(text(&vector["bytes"]));
        let wanted = (!vector["nextChange"].is_null()).then(|| Acknowledgement {
            next_change: number(&vector["nextChange"]),
            message: number(&vector["message"]),
        });
        assert_eq!(Acknowledgement::parse(&said), wanted, "{vector}");
        if let Some(known) = wanted {
            assert_eq!(known.to_bytes(), said);
        }
    }
}

#[test]
fn shapes_are_those_of_the_vectors() {
    for vector in list(&vectors("shapes")) {
        let said = bytes(text(&vector["bytes"]));
        let pair = |value: &Value| (number(&value[0]), number(&value[1]));
        let wanted = vector["kind"].as_str().map(|kind| match kind {
            "hidden" => Shape::Hidden,
            "own" => Shape::Own,
            _ => Shape::Image(Image {
                screen: (number(&vector["screen"][0]), number(&vector["screen"][1])),
                size: pair(&vector["size"]),
                hotspot: pair(&vector["hotspot"]),
                pixels: bytes(text(&vector["pixels"])),
            }),
        });
        assert_eq!(Shape::parse(&said), wanted, "{vector}");
        if let Some(known) = wanted {
            assert_eq!(known.to_bytes(), said);
        }
    }
}

#[test]
fn a_player_says_what_the_vectors_have() {
    for vector in list(&vectors("players")) {
        let (mut told, mut now) = (Told::default(), 0);
        for step in list(&vector["steps"]) {
            let step = list(step);
            let millis = number(&step[0]);
            told.pass(now, millis);
            now = millis;
            told.act(text(&step[1]), &step[2..]);
            told.listen(now);
        }
        told.pass(now, number(&vector["until"]));
        let wanted = list(&vector["messages"])
            .iter()
            .map(|message| (number(&message[0]), text(&message[1]).to_owned()));
        assert_eq!(told.messages, wanted.collect::<Vec<_>>(), "{}", vector["name"]);
    }
}

#[test]
fn answers_and_rumbles_are_those_of_the_vectors() {
    for vector in list(&vectors("gamepadAnswers")) {
        let said = bytes(text(&vector["bytes"]));
        let missing = vector["lack"].as_i64().map(|missing| match missing {
            0 => Missing::Nothing,
            1 => Missing::Use,
            _ => Missing::Devices,
        });
        let wanted = missing.map(|missing| Answer { missing, message: number(&vector["message"]) });
        assert_eq!(Answer::parse(&said), wanted, "{vector}");
        if let Some(known) = wanted {
            assert_eq!(known.to_bytes(), said);
        }
    }
    for vector in list(&vectors("rumbles")) {
        let said = bytes(text(&vector["bytes"]));
        let wanted = (!vector["pad"].is_null()).then(|| Rumble {
            pad: number(&vector["pad"]),
            strong: number(&vector["strong"]),
            weak: number(&vector["weak"]),
            millis: number(&vector["millis"]),
        });
        assert_eq!(Rumble::parse(&said), wanted, "{vector}");
        if let Some(known) = wanted {
            assert_eq!(known.to_bytes(), said);
        }
    }
}

fn act_on_gamepads(player: &mut gamepad::Player, action: &str, arguments: &[Value]) {
    match action {
        "read" => {
            let triggers = list(&arguments[2]).iter().map(number::<u8>).collect::<Vec<_>>();
            let axes = list(&arguments[3]).iter().map(number::<i16>).collect::<Vec<_>>();
            let reading = Reading {
                pressed: number(&arguments[1]),
                triggers: triggers.try_into().expect("two"),
                axes: axes.try_into().expect("four"),
            };
            player.read(number(&arguments[0]), Some(&reading));
        }
        "gone" => player.read(number(&arguments[0]), None),
        "releaseAll" => player.release_all(),
        "answer" => {
            let answer = Answer::parse(&bytes(text(&arguments[0])));
            player.on_answer(&answer.expect("an answer"));
        }
        _ => panic!("{action}"),
    }
}

#[test]
fn gamepads_say_what_the_vectors_have() {
    for vector in list(&vectors("gamepads")) {
        let (mut player, mut now) = (gamepad::Player::default(), 0);
        let mut messages: Vec<(i64, String)> = Vec::new();
        let mut listen = |player: &mut gamepad::Player, from: i64, until: i64| {
            for millis in from..=until {
                while let Some(message) = player.poll(at(millis)) {
                    messages.push((millis, hexadecimal(&message.to_bytes())));
                }
            }
        };
        for step in list(&vector["steps"]) {
            let step = list(step);
            let millis = number(&step[0]);
            listen(&mut player, now, millis);
            now = millis;
            act_on_gamepads(&mut player, text(&step[1]), &step[2..]);
            listen(&mut player, now, now);
        }
        listen(&mut player, now, number(&vector["until"]));
        let wanted = list(&vector["messages"])
            .iter()
            .map(|message| (number(&message[0]), text(&message[1]).to_owned()));
        assert_eq!(messages, wanted.collect::<Vec<_>>(), "{}", vector["name"]);
    }
}

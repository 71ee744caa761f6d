//! The shape of the pointer on a screen, as a program sets it.

use crate::support::{Folder, comes_true, installed};
use gameway_desktop::{Injector, Pointer, Screen, connect};
use gameway_input::{Action, Image, Shape};
use gameway_units::Instant;
use x11rb::connection::Connection;
use x11rb::protocol::render::{ConnectionExt as _, PictType};
use x11rb::protocol::xproto::{
    ChangeWindowAttributesAux, ConnectionExt as _, CreateGCAux, CreateWindowAux, ImageFormat,
    Window, WindowClass,
};
use x11rb::rust_connection::RustConnection;

/// A program that sets shapes.
struct Program {
    connection: RustConnection,
    root: Window,
}

impl Program {
    fn on(screen: &Screen) -> Self {
        let (connection, number) =
            connect(Some(screen.display()), Some(screen.authority())).expect("a screen");
        let root = connection.setup().roots[number].root;
        Self { connection, root }
    }

    /// Sets a shape of these pixels, ARGB with colours that are multiplied by the opacity.
    fn set(
        &self,
        window: Window,
        (width, height): (u16, u16),
        hotspot: (u16, u16),
        pixels: &[u32],
    ) {
        let own = &self.connection;
        let id = || own.generate_id().expect("a number");
        let (pixmap, context, picture, cursor) = (id(), id(), id(), id());
        let formats = own.render_query_pict_formats().expect("a screen").reply().expect("formats");
        let is_argb = |kind: PictType, depth: u8| kind == PictType::DIRECT && depth == 32;
        let format = formats.formats.iter().find(|one| {
            is_argb(one.type_, one.depth)
                && one.direct.alpha_shift == 24
                && one.direct.red_shift == 16
        });
        let format = format.expect("ARGB").id;
        let bytes: Vec<u8> = pixels.iter().flat_map(|pixel| pixel.to_le_bytes()).collect();
        let none = Default::default();
        own.create_pixmap(32, pixmap, self.root, width, height).expect("a screen");
        own.create_gc(context, pixmap, &CreateGCAux::new()).expect("a screen");
        own.put_image(ImageFormat::Z_PIXMAP, pixmap, context, width, height, 0, 0, 0, 32, &bytes)
            .expect("a screen");
        own.render_create_picture(picture, pixmap, format, &none).expect("a screen");
        own.render_create_cursor(cursor, picture, hotspot.0, hotspot.1).expect("a screen");
        let wanted = ChangeWindowAttributesAux::new().cursor(cursor);
        own.change_window_attributes(window, &wanted).expect("a screen").check().expect("a shape");
    }
}

/// What is told next.
fn next(pointer: &mut Pointer) -> Option<Shape> {
    let mut found = None;
    comes_true(|| {
        found = pointer.poll().expect("a screen");
        found.is_some()
    });
    found
}

/// Whether so many looks find nothing.
fn is_silent(pointer: &mut Pointer) -> bool {
    let mut looks = 0;
    comes_true(|| {
        looks += 1;
        pointer.poll().expect("a screen").is_some() || looks > 40
    });
    looks > 40
}

fn pointer_of(screen: &Screen) -> Pointer {
    Pointer::connect(Some(screen.display()), Some(screen.authority())).expect("XFIXES")
}

#[test]
fn the_shape_that_a_program_sets_is_told_once() {
    let folder = Folder::new();
    let Some(screen) = installed(Screen::start(640, 360, folder.path())) else { return };
    let mut pointer = pointer_of(&screen);
    assert_eq!(next(&mut pointer), Some(Shape::Own), "no program has set one");
    let program = Program::on(&screen);
    let pixels = [0xffff_8000, 0x8080_4000, 0x0000_0000, 0xff01_0203, 0xffff_ffff, 0xff00_0000];
    program.set(program.root, (3, 2), (2, 1), &pixels);
    let straight =
        [[255, 128, 0, 255], [255, 128, 0, 128], [0; 4], [1, 2, 3, 255], [255; 4], [0, 0, 0, 255]];
    let image =
        Image { screen: (640, 360), size: (3, 2), hotspot: (2, 1), pixels: straight.concat() };
    assert_eq!(next(&mut pointer), Some(Shape::Image(image.clone())));
    // Another one of the same pixels.
    program.set(program.root, (3, 2), (2, 1), &pixels);
    assert!(is_silent(&mut pointer));
    // Who comes later has it, too.
    assert_eq!(next(&mut pointer_of(&screen)), Some(Shape::Image(image)));
    program.set(program.root, (16, 16), (0, 0), &[0; 256]);
    assert_eq!(next(&mut pointer), Some(Shape::Hidden));
    program.set(program.root, (200, 1), (0, 0), &[0xffff_ffff; 200]);
    assert_eq!(next(&mut pointer), Some(Shape::Own), "it is too large");
}

#[test]
fn the_shape_is_that_of_the_window_where_the_pointer_is() {
    let folder = Folder::new();
    let Some(screen) = installed(Screen::start(640, 360, folder.path())) else { return };
    let (mut pointer, program) = (pointer_of(&screen), Program::on(&screen));
    let mut injector =
        Injector::connect(Some(screen.display()), Some(screen.authority())).expect("input");
    injector.apply(Instant::ZERO, [Action::MoveTo(0, 0)]).expect("a screen");
    assert_eq!(next(&mut pointer), Some(Shape::Own));
    let window = program.connection.generate_id().expect("a number");
    let (depth, kind) = (x11rb::COPY_DEPTH_FROM_PARENT, WindowClass::INPUT_OUTPUT);
    let wanted = CreateWindowAux::new().override_redirect(1);
    let made = program.connection.create_window(
        depth,
        window,
        program.root,
        320,
        0,
        320,
        360,
        0,
        kind,
        0,
        &wanted,
    );
    made.expect("a screen").check().expect("a window");
    program.set(window, (1, 1), (0, 0), &[0xff00_ff00]);
    program.connection.map_window(window).expect("a screen").check().expect("a window");
    assert!(is_silent(&mut pointer));
    injector.apply(Instant::ZERO, [Action::MoveTo(60_000, 30_000)]).expect("a screen");
    let green = vec![0, 255, 0, 255];
    let image = Image { screen: (640, 360), size: (1, 1), hotspot: (0, 0), pixels: green };
    assert_eq!(next(&mut pointer), Some(Shape::Image(image)));
    injector.apply(Instant::ZERO, [Action::MoveTo(0, 0)]).expect("a screen");
    assert_eq!(next(&mut pointer), Some(Shape::Own));
}

#[test]
fn a_screen_that_is_gone_is_an_error() {
    let folder = Folder::new();
    let Some(screen) = installed(Screen::start(640, 360, folder.path())) else { return };
    let mut pointer = pointer_of(&screen);
    drop(screen);
    let mut lost = None;
    assert!(comes_true(|| {
        lost = pointer.poll().err();
        lost.is_some()
    }));
    let message = lost.expect("an error").to_string();
    assert!(message.contains("no connection any more"), "{message}");
}

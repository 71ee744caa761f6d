//! A built-in moving scene, for machines without a display.
//!
//! # Model
//! A first-person view: above the horizon a far wall scrolls with the heading, below it the ground is
//! seen in perspective (each row steps through the ground's texture at its own scale), and textured
//! sprites cross at different depths. The heading follows legs of 1.5 s with a turn rate of their own;
//! one leg in six is a sudden turn of up to 1.5 pictures a second. Everything gets faint noise. A
//! picture is a function of the seed and its number alone, in integer arithmetic, so that any machine
//! draws the same bytes, in any order.
//!
//! | constant | value | origin |
//! |---|---|---|
//! | texture | 1024x1024, 5 octaves of value noise, each at 0.6 of the one before | falls like the spectrum of natural pictures (about 1/f); finest at two samples, so that there is something to lose |
//! | leg | 90 frames | 1.5 s at 60 frames/s: players turn about that often |
//! | sprites | 14, 24 to 120 samples wide at 720 lines | as many as foes and objects in a busy game |
//! | noise | -2 to 2 of luma | dithering and particles of a rendered picture |

use crate::{Picture, Size};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::{SplitMix64, Xoshiro256PlusPlus};

const TEXTURE_BITS: usize = 10;
const TEXTURE: usize = 1 << TEXTURE_BITS;
const LEG: u64 = 90;
const SPRITES: u64 = 14;
/// Longer than any row, prime, so that rows do not repeat it.
const NOISE: usize = 8191;

/// The scene's textures; draws any frame.
#[derive(Debug, Clone)]
pub struct Scene {
    seed: u64,
    size: Size,
    luma: Vec<u8>,
    blue: Vec<u8>,
    red: Vec<u8>,
    noise: Vec<i8>,
}

/// The marker of a player's hand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hand {
    /// Its middle from the left, 0 to 65535.
    pub x: u16,
    /// From the top.
    pub y: u16,
    /// Whether it is lit up.
    pub pressed: bool,
}

impl Hand {
    /// Samples of luma, blue and red difference: grey, or red when pressed (BT.709, limited range).
    const COLOURS: [[u8; 3]; 2] = [[200, 128, 128], [63, 102, 240]];
    /// Its side is this part of the picture's height.
    const PART: usize = 18;

    /// Draws it over a picture: a square, as much of it as fits.
    pub fn draw(self, picture: &mut Picture) {
        let (width, height) = (picture.size().width(), picture.size().height());
        let colours = Self::COLOURS[usize::from(self.pressed)];
        let half = height / Self::PART / 2;
        let middle =
            |side: u16, span: usize| usize::from(side) * (span - 1) / usize::from(u16::MAX);
        let (x, y) = (middle(self.x, width), middle(self.y, height));
        for ((plane, colour), shift) in picture.planes_mut().into_iter().zip(colours).zip([0, 1, 1])
        {
            let columns = x.saturating_sub(half) >> shift..(x + half).min(width) >> shift;
            let rows = y.saturating_sub(half) >> shift..(y + half).min(height) >> shift;
            for row in plane.chunks_mut(width >> shift).take(rows.end).skip(rows.start) {
                row[columns.clone()].fill(colour);
            }
        }
    }
}

/// Where the camera is in a frame, in samples of the texture.
#[derive(Debug, Clone, Copy)]
struct Camera {
    heading: i64,
    along: i64,
}

impl Scene {
    /// The scene of a seed, in a size.
    #[must_use]
    pub fn new(seed: u64, size: Size) -> Self {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let luma = texture(&mut random, 5, 45, 200);
        let blue = texture(&mut random, 3, 100, 150);
        let red = texture(&mut random, 3, 104, 152);
        let noise = (0..NOISE + 2 * size.width()).map(|_| (random.next_u32() % 5) as i8 - 2);
        Self { seed, size, luma, blue, red, noise: noise.collect() }
    }

    /// The picture of a frame.
    #[must_use]
    pub fn picture(&self, frame: u64) -> Picture {
        let mut picture = Picture::black(self.size);
        self.draw(frame, &mut picture);
        picture
    }

    /// Draws a frame over `picture`, which must have the scene's size.
    ///
    /// # Panics
    /// If the sizes differ.
    pub fn draw(&self, frame: u64, picture: &mut Picture) {
        assert_eq!(picture.size(), self.size, "pictures of the scene's size");
        let camera = self.camera(frame);
        let height = self.size.height();
        let [luma, blue, red] = picture.planes_mut();
        for (plane, texture, shift) in
            [(luma, &self.luma, 0), (blue, &self.blue, 1), (red, &self.red, 1)]
        {
            let width = self.size.width() >> shift;
            for (row, samples) in plane.chunks_mut(width).enumerate() {
                let line = row << shift;
                if line < height / 2 {
                    wall(samples, texture, camera, line, shift);
                } else {
                    ground(samples, texture, camera, line - height / 2, height, shift);
                }
            }
        }
        self.sprites(frame, camera, picture);
        self.add_noise(frame, picture);
    }

    fn camera(&self, frame: u64) -> Camera {
        let turn = |leg: u64| {
            let draw = mix(self.seed ^ mix(leg));
            let max = if draw.is_multiple_of(6) { self.size.width() as i64 / 40 } else { 5 };
            (draw >> 8) as i64 % (2 * max + 1).max(1) - max
        };
        // 2^40 frames are 580 years; a leg's sum is cheap: an hour has 2400 of them.
        let leg = frame / LEG;
        let whole: i64 = (0..leg).map(|leg| turn(leg) * LEG as i64).sum();
        Camera { heading: whole + turn(leg) * (frame % LEG) as i64, along: frame as i64 * 5 }
    }

    fn sprites(&self, frame: u64, camera: Camera, picture: &mut Picture) {
        let (width, height) = (self.size.width() as i64, self.size.height() as i64);
        for sprite in 0..SPRITES {
            let draw = mix(self.seed.wrapping_add(sprite) ^ 0x5eed);
            let side = (24 + (draw % 97) as i64) * height / 720;
            let side = (side & !1).max(4);
            let speed = (draw >> 16) as i64 % 13 - 6;
            let span = width + 2 * side;
            let start = (draw >> 24) as i64 % span;
            // Sprites move against the heading, the nearer (larger) the more.
            let drift = camera.heading * side / 60;
            let left = (start + speed * frame as i64 - drift).rem_euclid(span) - side;
            let bounce = triangle(frame as i64 * (2 + sprite as i64 % 3), height / 6);
            let top = height / 3 + (draw >> 40) as i64 % (height / 3) + bounce - side / 2;
            let from = (draw >> 20) as usize;
            self.sprite(picture, (left & !1, top & !1), side, from);
        }
    }

    /// Draws one square of texture, brightened, with its top-left corner at `place`.
    fn sprite(&self, picture: &mut Picture, place: (i64, i64), side: i64, from: usize) {
        let size = self.size;
        let sources = [&self.luma, &self.blue, &self.red];
        for (index, (plane, source)) in picture.planes_mut().into_iter().zip(sources).enumerate() {
            let shift = u32::from(index > 0);
            let (width, height) = (size.width() as i64 >> shift, size.height() as i64 >> shift);
            let (left, top, side) = (place.0 >> shift, place.1 >> shift, side >> shift);
            let (first, last) = (left.max(0), (left + side).min(width));
            if first >= last {
                continue;
            }
            for row in top.max(0)..(top + side).min(height) {
                let target =
                    &mut plane[(row * width + first) as usize..(row * width + last) as usize];
                let line = (from >> TEXTURE_BITS).wrapping_add((row - top) as usize) % TEXTURE;
                let texture = &source[line * TEXTURE..(line + 1) * TEXTURE];
                let column = (from % TEXTURE) + (first - left) as usize;
                for (i, sample) in target.iter_mut().enumerate() {
                    *sample = 255 - texture[(column + i) % TEXTURE];
                }
            }
        }
    }

    fn add_noise(&self, frame: u64, picture: &mut Picture) {
        let width = self.size.width();
        for (row, samples) in picture.planes_mut()[0].chunks_mut(width).enumerate() {
            let start = (mix(self.seed ^ frame) as usize % NOISE + row * 4099) % NOISE;
            let noise = &self.noise[start..];
            for (sample, noise) in samples.iter_mut().zip(noise) {
                *sample = sample.wrapping_add_signed(*noise);
            }
        }
    }
}

/// A row above the horizon: the texture, shifted by the heading.
fn wall(samples: &mut [u8], texture: &[u8], camera: Camera, line: usize, shift: usize) {
    let row = ((line * 2) >> shift) % TEXTURE;
    let texture = &texture[row * TEXTURE..(row + 1) * TEXTURE];
    let mut column = (camera.heading >> shift).rem_euclid(TEXTURE as i64) as usize;
    let mut rest = samples;
    while !rest.is_empty() {
        let run = rest.len().min(TEXTURE - column);
        let (now, later) = rest.split_at_mut(run);
        now.copy_from_slice(&texture[column..column + run]);
        (rest, column) = (later, 0);
    }
}

/// A row below the horizon: the texture in perspective; 16 fractional bits.
fn ground(
    samples: &mut [u8],
    texture: &[u8],
    camera: Camera,
    below: usize,
    height: usize,
    shift: usize,
) {
    // Depth is inverse to the distance from the horizon; 40 keeps it finite there.
    let scale = ((height as i64 / 2 + 40) << 16) / (below as i64 + 40);
    let depth = (scale >> 9) + camera.along * 2;
    let row = (depth >> shift).rem_euclid(TEXTURE as i64) as usize;
    let texture: &[u8; TEXTURE] =
        texture[row * TEXTURE..].first_chunk().expect("a whole row of the texture");
    let half = samples.len() as i64 / 2;
    let start = ((camera.heading * 2) << 16 >> shift) - half * scale;
    let mut column = start as u32;
    for sample in samples {
        *sample = texture[(column >> 16) as usize % TEXTURE];
        column = column.wrapping_add(scale as u32);
    }
}

/// Goes up and down between 0 and `top`.
fn triangle(at: i64, top: i64) -> i64 {
    let top = top.max(1);
    let phase = at.rem_euclid(2 * top);
    phase.min(2 * top - phase)
}

/// Value noise that wraps around: octaves from 64 samples down, spread over `low..=high`.
fn texture(random: &mut Xoshiro256PlusPlus, octaves: u32, low: i64, high: i64) -> Vec<u8> {
    let mut sum = vec![0_i64; TEXTURE * TEXTURE];
    let mut weight = 1 << 12;
    for octave in 0..octaves {
        let cell = 32_usize >> octave;
        let cells = TEXTURE / cell;
        let lattice: Vec<i64> =
            (0..cells * cells).map(|_| i64::from(random.next_u32() >> 24)).collect();
        for row in 0..TEXTURE {
            let (top, down) = (row / cell, (row % cell) as i64);
            let rows = [top * cells, (top + 1) % cells * cells];
            for column in 0..TEXTURE {
                let (left, right) = (column / cell, (column / cell + 1) % cells);
                let (across, side) = ((column % cell) as i64, cell as i64);
                let blend = |row: usize| {
                    lattice[row + left] * (side - across) + lattice[row + right] * across
                };
                let value = blend(rows[0]) * (side - down) + blend(rows[1]) * down;
                sum[row * TEXTURE + column] += value * weight / (side * side);
            }
        }
        weight = weight * 6 / 10;
    }
    let (min, max) = sum.iter().fold((i64::MAX, 0), |(a, b), v| (a.min(*v), b.max(*v)));
    let spread = (max - min).max(1);
    sum.iter().map(|value| (low + (value - min) * (high - low) / spread) as u8).collect()
}

/// A well-mixed number from a number.
fn mix(number: u64) -> u64 {
    SplitMix64::seed_from_u64(number).next_u64()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn size(width: u32, height: u32) -> Size {
        Size::new(width, height).unwrap()
    }

    #[test]
    fn a_frame_depends_on_seed_and_number_alone() {
        let (one, two) = (Scene::new(1, size(320, 180)), Scene::new(1, size(320, 180)));
        let late = one.picture(500);
        assert_eq!(late, two.picture(500));
        let mut drawn_over = one.picture(3);
        one.draw(500, &mut drawn_over);
        assert_eq!(drawn_over, late);
        assert_ne!(late, one.picture(501));
        assert_ne!(late, Scene::new(2, size(320, 180)).picture(500));
    }

    #[test]
    fn odd_sizes_and_late_frames_are_drawn() {
        for size in [size(16, 16), size(130, 66), size(4096, 64), size(64, 4096)] {
            let scene = Scene::new(9, size);
            assert_ne!(scene.picture(0), scene.picture(4_000_000));
        }
    }

    #[test]
    fn luma_stays_in_limited_range_and_varies() {
        let picture = Scene::new(5, size(640, 360)).picture(77);
        let luma = picture.planes()[0];
        let (min, max) = (luma.iter().min().unwrap(), luma.iter().max().unwrap());
        assert!((16..70).contains(min) && (180..=235).contains(max), "{min} to {max}");
    }
}

/*
 * Measures how x264 follows a changing target bitrate.
 *
 * Reads I420 pictures from standard input, encodes them as a game stream would (ultrafast, zerolatency,
 * one-frame VBV, no key frame after the first), alternates the target between two bitrates every PERIOD
 * frames, and writes one CSV line for each frame: its index, the target it was encoded under, its size.
 *
 * Links libx264 (GPL). It is a measuring instrument only: no part of Gameway links it.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <x264.h>

struct run {
    int width;
    int height;
    int frames_per_second;
    long high_kbit_per_s;
    long low_kbit_per_s;
    long period_frames;
};

static long argument(const char *name, const char *text, long most)
{
    char *end = NULL;
    errno = 0;
    long value = strtol(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || value < 1 || value > most) {
        fprintf(stderr, "reaction: %s is \"%s\"; give a whole number from 1 to %ld\n", name, text, most);
        exit(2);
    }
    return value;
}

/* One frame of VBV: no frame may borrow from the next, so none queues behind another. */
static void set_target(x264_param_t *parameters, long kbit_per_s, int frames_per_second)
{
    parameters->rc.i_rc_method = X264_RC_ABR;
    parameters->rc.i_bitrate = (int)kbit_per_s;
    parameters->rc.i_vbv_max_bitrate = (int)kbit_per_s;
    parameters->rc.i_vbv_buffer_size = (int)(kbit_per_s / frames_per_second);
}

static x264_t *open_encoder(const struct run *run, x264_param_t *parameters)
{
    if (x264_param_default_preset(parameters, "ultrafast", "zerolatency") < 0)
        return NULL;
    parameters->i_csp = X264_CSP_I420;
    parameters->i_width = run->width;
    parameters->i_height = run->height;
    parameters->i_fps_num = (uint32_t)run->frames_per_second;
    parameters->i_fps_den = 1;
    parameters->b_vfr_input = 0;
    /* One thread makes the sizes independent of the machine's number of cores. */
    parameters->i_threads = 1;
    parameters->i_keyint_max = X264_KEYINT_MAX_INFINITE;
    parameters->i_scenecut_threshold = 0;
    parameters->i_log_level = X264_LOG_WARNING;
    set_target(parameters, run->high_kbit_per_s, run->frames_per_second);
    return x264_encoder_open(parameters);
}

/* Both halves of a period are equally long: high first, low second. */
static long target_of(const struct run *run, long frame)
{
    return (frame / run->period_frames) % 2 == 0 ? run->high_kbit_per_s : run->low_kbit_per_s;
}

static int retarget(x264_t *encoder, x264_param_t *parameters, const struct run *run, long frame)
{
    if (frame == 0 || target_of(run, frame) == target_of(run, frame - 1))
        return 0;
    set_target(parameters, target_of(run, frame), run->frames_per_second);
    return x264_encoder_reconfig(encoder, parameters);
}

static int read_picture(const x264_picture_t *picture, size_t luma_bytes)
{
    return fread(picture->img.plane[0], 1, luma_bytes, stdin) == luma_bytes
        && fread(picture->img.plane[1], 1, luma_bytes / 4, stdin) == luma_bytes / 4
        && fread(picture->img.plane[2], 1, luma_bytes / 4, stdin) == luma_bytes / 4;
}

static int encode_all(const struct run *run, x264_t *encoder, x264_param_t *parameters)
{
    x264_picture_t input, output;
    if (x264_picture_alloc(&input, X264_CSP_I420, run->width, run->height) < 0)
        return 1;
    puts("frame,target_kbit_per_s,size_bytes,key_frame");
    for (long frame = 0; read_picture(&input, (size_t)run->width * (size_t)run->height); frame++) {
        x264_nal_t *units = NULL;
        int unit_count = 0;
        input.i_pts = frame;
        if (retarget(encoder, parameters, run, frame) != 0)
            return 1;
        int size_bytes = x264_encoder_encode(encoder, &units, &unit_count, &input, &output);
        if (size_bytes <= 0)
            return 1;
        printf("%ld,%ld,%d,%d\n", frame, target_of(run, frame), size_bytes, output.b_keyframe);
    }
    x264_picture_clean(&input);
    return 0;
}

int main(int count, char **arguments)
{
    if (count != 7) {
        fprintf(stderr, "usage: reaction WIDTH HEIGHT FPS HIGH_KBIT LOW_KBIT PERIOD_FRAMES < i420\n");
        return 2;
    }
    const struct run run = {
        .width = (int)argument("WIDTH", arguments[1], 16384),
        .height = (int)argument("HEIGHT", arguments[2], 16384),
        .frames_per_second = (int)argument("FPS", arguments[3], 1000),
        .high_kbit_per_s = argument("HIGH_KBIT", arguments[4], 2000000),
        .low_kbit_per_s = argument("LOW_KBIT", arguments[5], 2000000),
        .period_frames = argument("PERIOD_FRAMES", arguments[6], 1000000),
    };
    x264_param_t parameters;
    x264_t *encoder = open_encoder(&run, &parameters);
    if (encoder == NULL) {
        fprintf(stderr, "reaction: x264 refused %dx%d\n", run.width, run.height);
        return 1;
    }
    int failed = encode_all(&run, encoder, &parameters);
    if (failed)
        fprintf(stderr, "reaction: x264 failed while encoding\n");
    x264_encoder_close(encoder);
    return failed;
}

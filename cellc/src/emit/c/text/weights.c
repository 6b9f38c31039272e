//: narrow

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "weights narrower than a float are laid out for little-endian machines:"
#error "take --precision f32, bf16, int16 or int8"
#endif
//: inline

/* The weights in the order in which the kernels read them: the last part of this file.
//* arrays
 * From PLACE: DESCRIPTION
//.
//* extensions
 * -DUPPER_WEIGHTS_SECTION='".name"' puts them into a section of the linker's. */
#ifdef UPPER_WEIGHTS_SECTION
__attribute__((section(UPPER_WEIGHTS_SECTION)))
#endif
//.
//* no extensions
 * Define UPPER_WEIGHTS_PLACE as the compiler's words for a constant's section, if it needs one. */
#ifdef UPPER_WEIGHTS_PLACE
UPPER_WEIGHTS_PLACE
#endif
//.
static const union PREFIX_weight_bits {
    ALIGNED_MEMBERuint32_t bits[LENGTH];
    float values[LENGTH];
//* narrow
    TYPE MEMBER[COUNT];
//.
} PREFIX_weight_data;
//: numbers

static const union PREFIX_weight_bits PREFIX_weight_data = {{
//: few

/* The weights in the order in which the kernels read them:
 * DESCRIPTIONS */
static const struct PREFIX_weight_arrays {
//* few
    float MEMBER[COUNT];
//.
} PREFIX_weight_data = {
//* few
    {NUMBERS},
//.
};
//: beside

/* The weights in the order in which the kernels read them, as little-endian numbers in a file beside this one. The
 * assembler looks for it in the working directory and in those given by -I; -DUPPER_WEIGHTS_FILE='"path"' names
 * another place (with -flto: a place that the linker finds too). -DUPPER_WEIGHTS_SECTION='".name"' puts the weights into
 * a section of the linker's.
 *
 * HELD_BYTES bytes of weights are followed by TAIL_BYTES bytes that are not linked: the first half of the weights' SHA-256,
 * DIGEST, and as many zeros as the second half says. With a file of another length this source does
 * not compile: the assembler refuses one of two ".org". Then generate both files again. */
#ifndef UPPER_WEIGHTS_FILE
#define UPPER_WEIGHTS_FILE "FILE_NAME"
#endif
#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the weights file is little-endian: generate this file with --weights-as inline"
#elif !defined(UPPER_EMBED) && (defined(__ELF__) || defined(__APPLE__) || defined(_WIN32))
#define UPPER_STRING_(text) #text
#define UPPER_STRING(text) UPPER_STRING_(text)
#define UPPER_SYMBOL UPPER_STRING(__USER_LABEL_PREFIX__) "PREFIX_weight_data"
#if defined(__APPLE__)
#ifndef UPPER_WEIGHTS_SECTION
#define UPPER_WEIGHTS_SECTION "__TEXT,__const"
#endif
#define UPPER_BEGIN ".section " UPPER_WEIGHTS_SECTION "\n.private_extern " UPPER_SYMBOL "\n"
#define UPPER_TAIL ".section __DWARF,__cellc,regular,debug\n"
#define UPPER_END ".text\n"
#elif defined(_WIN32)
#ifndef UPPER_WEIGHTS_SECTION
#define UPPER_WEIGHTS_SECTION ".rdata"
#endif
#define UPPER_BEGIN ".section " UPPER_WEIGHTS_SECTION ",\"dr\"\n"
#define UPPER_TAIL ".section .cellc,\"n\"\n"
#define UPPER_END ".text\n"
#else
#ifndef UPPER_WEIGHTS_SECTION
#define UPPER_WEIGHTS_SECTION ".rodata"
#endif
#define UPPER_BEGIN ".pushsection " UPPER_WEIGHTS_SECTION ",\"a\"\n.hidden " UPPER_SYMBOL "\n"
#define UPPER_TAIL ".pushsection .cellc,\"e\"\n"
#define UPPER_END ".popsection\n"
#endif
__asm__(UPPER_BEGIN
        ".globl " UPPER_SYMBOL "\n"
        ".balign ALIGNMENT\n"
        UPPER_SYMBOL ":\n"
        ".incbin \"" UPPER_WEIGHTS_FILE "\", 0, HELD_BYTES\n"
        UPPER_END UPPER_TAIL
        "8: .incbin \"" UPPER_WEIGHTS_FILE "\", HELD_BYTES\n"
        "9:\n"
        ".org . - (9b - 8b) + TAIL_BYTES\n" /* an error: the file is too long */
        ".org . - TAIL_BYTES + (9b - 8b)\n" /* an error: the file is too short */
        UPPER_END);
#if defined(__ELF__)
__attribute__((visibility("hidden")))
#endif
extern const KIND {
    float values[LENGTH];
//* narrow
    TYPE MEMBER[COUNT];
//.
} PREFIX_weight_data;
#elif defined(__has_embed)
#if defined(__clang__)
#pragma clang diagnostic ignored "-Wc23-extensions"
#endif
#ifdef UPPER_WEIGHTS_SECTION
__attribute__((section(UPPER_WEIGHTS_SECTION)))
#endif
static const ALIGNED_MEMBERunion {
    unsigned char bytes[HELD_BYTES];
    float values[LENGTH];
//* narrow
    TYPE MEMBER[COUNT];
//.
} PREFIX_weight_data = {{
#embed UPPER_WEIGHTS_FILE limit(HELD_BYTES)
}};
enum {
    PREFIX_weight_file_bytes = sizeof((const unsigned char[]){
#embed UPPER_WEIGHTS_FILE
    })
};
_Static_assert(PREFIX_weight_file_bytes == HELD_BYTES + TAIL_BYTES, "the file holds other weights than those of this source: generate both again");
#else
#error "no way to take in the weights file: generate this file with --weights-as inline"
#endif

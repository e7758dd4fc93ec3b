/* SPDX-License-Identifier: GPL-2.0-or-later OR GPL-2.0-only */
/*
 * wire.h: messages, counts and tables that pass between the kernel half and the user half.
 *
 * The only header of this folder that the user half includes. It includes nothing, compiles as BPF C and as C17, with
 * one layout of every structure. Numbers are little-endian host numbers; addresses of the unwind tables ("table words")
 * are indexes of 4-byte words in one address space that is cut into segments of SP_SEG_BYTES.
 *
 * Messages arrive through two ring buffers: `events` (files and processes; a file wakes the reader) and `samples`
 * (frames of new stacks, read by a timer; samples that wait for a table, which wake the reader). The map `stacks` holds
 * no frames: it remembers which stacks and tickets were sent, so that each is sent once, or again when the map has
 * forgotten it.
 */
#ifndef SP_BPF_WIRE_H
#define SP_BPF_WIRE_H

typedef __UINT8_TYPE__ sp_u8;
typedef __UINT16_TYPE__ sp_u16;
typedef __UINT32_TYPE__ sp_u32;
typedef __UINT64_TYPE__ sp_u64;
typedef __INT16_TYPE__ sp_s16;
typedef __INT32_TYPE__ sp_s32;
typedef __INT64_TYPE__ sp_s64;

enum {
	SP_COMM_LEN = 16,
	SP_MAX_FRAMES = 2048,       /* user frames kept of one stack: those next to the leaf and, */
	SP_ROOT_FRAMES = 512,       /* of a deeper one, so many next to the root (a power of two) */
	SP_NEAR_FRAMES = 512,       /* of these, so many have room in the scratch of each sample */
	SP_WALK_FRAMES = 65536,     /* at most so many more are walked of one sample */
	SP_MAX_KERNEL_FRAMES = 128, /* the kernel's own limit is 127 */
	SP_MAX_FILES = 32768,       /* files (and anonymous regions) known at one time */
	SP_MAX_FREE_FILES = 8192,   /* ids of forgotten files, to be given again */
	SP_MAX_OVER_USERS = 64,     /* users whose new files are not announced one by one */
	SP_MAX_PROCESSES = 16384,
	SP_MAX_TARGETS = 32768,
	SP_PENDING_STACK = 65536, /* stack bytes sent with a sample that waits for a table; encoders use over 32 KiB */
	SP_MAX_STACKS_ABOVE = 32, /* messages of that size with the stack above it */
	SP_PENDING_MAPS = 512,    /* executable mappings sent with it; ffmpeg has 220 */
	SP_NAME_LEN = 64,
	SP_CODE_BYTES = 128, /* of a leaf's code, from SP_CODE_BEFORE bytes before its instruction pointer on */
	SP_CODE_BEFORE = 8,
};

/*
 * A frame word: kind (2 bits), flags (2), file id (20), offset (40).
 * FILE: the byte offset in the file of the instruction; for a caller, of the last byte of its call instruction.
 * KERNEL: the low 60 bits of the address (a caller's is the return address less one, too).
 * ANON: memory without a file. The id is that of an anonymous region, {process number, address >> 40}, which has its
 * own number among the file ids, so that equal addresses of two processes never merge; the offset is the low 40 bits.
 */
#define SP_FRAME_KIND_SHIFT 62
#define SP_FRAME_FILE 0ULL
#define SP_FRAME_KERNEL 1ULL
#define SP_FRAME_ANON 2ULL
#define SP_FRAME_GUESSED (1ULL << 61) /* reached by a step that the unwind information does not vouch for */
#define SP_FRAME_DERIVED (1ULL << 60) /* reached by rows that were derived from instructions */
#define SP_FRAME_MARKS (SP_FRAME_GUESSED | SP_FRAME_DERIVED)
#define SP_FRAME_RUNTIME SP_FRAME_MARKS /* both: reached by what the runtime of JIT code tells of its frames */
#define SP_FRAME_ID_SHIFT 40
#define SP_FRAME_ID_MASK 0xfffffULL
#define SP_FRAME_OFFSET_MASK ((1ULL << 40) - 1)
#define SP_FRAME_KERNEL_MASK ((1ULL << 60) - 1)

/*
 * Why a user stack ended. COMPLETE, THREAD, FIBER: the walk reached the root of a process, thread or fiber. NONE, GONE:
 * there was no user stack to walk.
 */
enum sp_stop {
	SP_STOP_COMPLETE,
	SP_STOP_NONE,      /* kernel thread, idle, or user stacks not asked for */
	SP_STOP_GONE,      /* the sample fell inside execve or exit */
	SP_STOP_PENDING,   /* the user half finishes it: never in a drained profile */
	SP_STOP_DEEP,      /* more frames than are walked of one sample */
	SP_STOP_UNMAPPED,  /* an address outside every executable mapping */
	SP_STOP_BUSY,      /* the mapping tree was in flux */
	SP_STOP_READ,      /* stack memory not readable */
	SP_STOP_RULE,      /* the unwind information cannot be expressed as a row */
	SP_STOP_REGISTER,  /* a rule needs a register whose value is lost */
	SP_STOP_CFA,       /* an impossible frame address */
	SP_STOP_NO_UNWIND, /* no unwind information, and no credible frame pointer */
	SP_STOP_TABLE,     /* the file's table could not be loaded in time */
	SP_STOP_FILES,     /* no file id left */
	SP_STOP_BITS,      /* a 32-bit program */
	SP_STOP_COPY,      /* a word outside the copy of the stack that was taken */
	SP_STOP_THREAD,    /* complete: where a thread begins */
	SP_STOP_FIBER,     /* complete: where a fiber, coroutine or context begins, no matter who resumed it */
	SP_N_STOPS,
};
#define SP_STACK_HAS_GUESS 0x100u /* flag beside an sp_stop: at least one frame was guessed */

/*
 * Unwind tables. A file's text is cut into groups of 1 << shift bytes; `first` is the number of the first group.
 * Index word of a group: position of its first row relative to `rows` (22 bits) << 10 | number of rows (10 bits).
 * A group's first row covers its first byte (no rows: a gap); its rows never cross a segment's border. A row is the low
 * 16 bits of the file offset where it begins, and the rule (high 16 bits) that holds from there to the next row.
 * Rule 0 of every table is SP_CFA_NONE: no unwind information here.
 */
#define SP_SEG_SHIFT 18 /* words */
#define SP_SEG_WORDS (1u << SP_SEG_SHIFT)
#define SP_SEG_BYTES (SP_SEG_WORDS * 4u)
#define SP_MAX_SEGS 1024 /* 1 GiB of tables */
#define SP_INDEX_COUNT_BITS 10
#define SP_INDEX_COUNT_MASK ((1u << SP_INDEX_COUNT_BITS) - 1)
#define SP_MAX_ROWS (1u << (32 - SP_INDEX_COUNT_BITS))

enum sp_table_state {
	SP_TABLE_ABSENT, /* not loaded yet, evicted, or code of no known kind: the user half finishes the sample */
	SP_TABLE_LOADED,
	SP_TABLE_FP,      /* there is no unwind information: frame-pointer steps, guessed */
	SP_TABLE_V8,      /* code that V8 made (unwind/x86_64/v8.h) */
	SP_TABLE_HOTSPOT, /* code that HotSpot made (unwind/x86_64/hotspot.h) */
	SP_TABLE_JIT,     /* JIT code of another runtime: the user half may read it (unwind/x86_64/jit.h) */
	SP_TABLE_NO_FILE, /* no ELF file, and without a name (a memfd, say): taken as memory without a file */
};

struct sp_table { /* element [file id] of map `tables`; 32 bytes; written by the user half, state last */
	sp_u32 state;
	sp_u32 index; /* table words */
	sp_u32 rows;
	sp_u32 rules; /* multiple of 4 */
	sp_u32 first;
	sp_u32 n_groups;
	sp_u32 shift;
	sp_u32 used; /* in which drain it was used last; written by the kernel half */
};

/*
 * Where HotSpot says its code is. at[]: addresses in the process; first those of HotSpot's own variables, then those of
 * the numbers that tell a field's offset (or a size). The rest is read from the process when such code is first met.
 */
enum sp_hotspot_field {
	SP_HOTSPOT_HEAPS,       /* CodeCache::_heaps */
	SP_HOTSPOT_INTERPRETER, /* AbstractInterpreter::_code */
	SP_HOTSPOT_LEN,         /* of GrowableArray: from here on, offsets */
	SP_HOTSPOT_DATA,
	SP_HOTSPOT_MEMORY, /* of CodeHeap */
	SP_HOTSPOT_SEGMAP,
	SP_HOTSPOT_LOG2,
	SP_HOTSPOT_LOW, /* of VirtualSpace */
	SP_HOTSPOT_HIGH,
	SP_HOTSPOT_STUBS, /* of StubQueue */
	SP_HOTSPOT_STUBS_SIZE,
	SP_HOTSPOT_CODE, /* of CodeBlob */
	SP_HOTSPOT_COMPLETE,
	SP_HOTSPOT_FRAME,
	SP_HOTSPOT_SIZE,
	SP_HOTSPOT_BLOCK, /* the size of HeapBlock, which stands before a blob */
	SP_HOTSPOT_N_FIELDS,
};
#define SP_HOTSPOT_CODE_OFFSET 1u    /* a blob has its code's offset, not its address (since JDK 24) */
#define SP_HOTSPOT_SHORT_COMPLETE 2u /* frame_complete has 2 bytes */
enum { SP_HOTSPOT_MAX_HEAPS = 4, SP_MAX_HOTSPOTS = 512 };
struct sp_code_heap {
	sp_u64 low, high, map;
	sp_u32 log2, pad;
};
struct sp_hotspot { /* value of map `hotspots`, by the id of the memory */
	sp_u32 flags, is_open;
	sp_u64 at[SP_HOTSPOT_N_FIELDS];
	sp_u32 off[SP_HOTSPOT_N_FIELDS];
	struct sp_code_heap heap[SP_HOTSPOT_MAX_HEAPS];
	sp_u64 interpreter, interpreter_bytes;
};
struct sp_hotspot_blob_info { /* what a blob says */
	sp_u64 code;
	sp_u32 complete, frame; /* bytes of code until the frame is set up (negative: never); its size in words */
};

/* Registers have their DWARF numbers. `sp` and `fp` are 7 and 6 on x86-64. */
enum sp_cfa_kind {
	SP_CFA_NONE,        /* a gap: no unwind information for this address */
	SP_CFA_ROOT,        /* the return address is undefined: the outermost frame */
	SP_CFA_REG,         /* reg + off */
	SP_CFA_DEREF,       /* *(reg + off) + add */
	SP_CFA_INDEX,       /* reg + off + index * scale */
	SP_CFA_INDEX_DEREF, /* *(reg + off + index * scale) + add */
	SP_CFA_PLT,         /* sp + off + ((ip & 15) >= add ? 8 : 0) */
	SP_CFA_BAD,         /* known, but not expressible: SP_STOP_RULE */
	SP_CFA_V8,          /* no unwind information, in a file with V8's own functions (unwind/x86_64/v8.h) */
	SP_CFA_CHAIN, /* SP_CHAIN_STEPS times: reg = *(reg + step * 8); + 8 (unwind/x86_64/go_switch.h). Where that
			 leads to no return address, by the frame pointer, which leaves a frame out */
};
#define SP_CHAIN_STEPS 3 /* in off of SP_CFA_CHAIN, the first in the lowest bits */
#define SP_CHAIN_BITS 10
#define SP_CHAIN_MASK ((1 << SP_CHAIN_BITS) - 1)
#define SP_V8_UNSURE 1 /* off of SP_CFA_V8: a leaf's return address may be at the stack pointer, or not */
/* In `reg` of SP_CFA_ROOT: what begins there. */
enum sp_stack_root { SP_ROOT_PROCESS, SP_ROOT_THREAD, SP_ROOT_FIBER };
/* In `reg` of SP_CFA_BAD: what a row cannot express. */
enum sp_bad_why {
	SP_BAD_CAP,     /* the file has more rules than a table */
	SP_BAD_CFA,     /* the frame's address: an expression, or a register that is not kept */
	SP_BAD_RA,      /* where the return address is */
	SP_BAD_SP,      /* the caller's stack pointer is not the frame's address */
	SP_BAD_PROGRAM, /* call frame information that is malformed */
	SP_N_BAD,
};
enum sp_fp_kind {
	SP_FP_SAME,
	SP_FP_CFA,  /* saved at CFA + fp_off */
	SP_FP_FP,   /* saved at fp + fp_off */
	SP_FP_SP,   /* saved at sp + fp_off */
	SP_FP_LOST, /* undefined, or not expressible: unknown in the caller */
};
enum sp_ra_kind {
	SP_RA_CFA,    /* saved at CFA + ra_off */
	SP_RA_SP,     /* saved at sp + ra_off */
	SP_RA_REG,    /* still in register ra_off (link-register machines; __vfork keeps it in rdi) */
	SP_RA_SWITCH, /* as CFA, but the caller's frame is on another stack, which may lie anywhere; add not 0: a frame
			 between the two is left out, so the caller is guessed */
};
/* In `ra`, too. */
#define SP_RULE_SIGNAL 0x80u /* a signal frame; the caller was interrupted, not calling */
/*
 * The function never returns, so a return address of 0 is a fiber's root. Whoever builds a fiber's stack by hand puts 0
 * where the first function's return address belongs: at the top of the stack, where the calling convention wants the
 * frame's address to be a multiple of 16. Anywhere else 0 is an address that is not mapped. Others put the address of
 * what is to run if the function did return (perl's Coro: abort), which no call stands in front of.
 */
#define SP_RULE_FIRST 0x40u
/* The base register (rbx) is saved at CFA + add (SP_CFA_REG, which has no other use for it). */
#define SP_RULE_BASE_CFA 0x20u
#define SP_RULE_DERIVED 0x10u /* not told by the file but derived from its instructions */
#define SP_RULE_SCALE 0x0cu   /* of SP_CFA_INDEX*: the index is multiplied by 1, 2, 4 or 8 */
#define SP_RULE_SCALE_SHIFT 2
#define SP_RULE_RA_MASK 0x03u

/*
 * `kept`: a bit for each register whose value in the caller is the one here. A hand-written function may count its CFA
 * from any register while it calls others that leave this register alone. Only files with such a function have these
 * bits, and only for such registers. All other registers are lost in the caller, but for the stack pointer and the
 * frame pointer, which every rule gives.
 */
struct sp_rule { /* 16 bytes */
	sp_u8 cfa;
	sp_u8 reg; /* of SP_CFA_INDEX*: the index register << 4, too */
	sp_u8 fp;
	sp_u8 ra;
	sp_s32 off;
	sp_s16 add;
	sp_u16 kept;
	sp_s16 fp_off;
	sp_s16 ra_off;
};

/*
 * A file as the kernel knows it. Keys come from the kernel half, or from records and /proc/PID/maps, never from
 * stat(2), which shows other devices on some file systems.
 */
#define SP_DEV_ANON 0xffffffffu /* ino = process number, size = address >> 40 */
#define SP_DEV_VDSO 0xfffffffeu
#define SP_DEV_OVER 0xfffffffdu /* ino = uid: stands for all new files of a user who is in over_users */
struct sp_file_key {
	sp_u64 ino;
	sp_u64 size;
	sp_u64 mtime_ns;
	sp_u32 dev; /* major << 20 | minor */
	sp_u32 generation;
};

/* The directory in which a process's paths begin, as /proc shows them; equal in all mount namespaces that share it. */
struct sp_fsroot_key {
	sp_u64 ino; /* 0: not known */
	sp_u32 dev; /* major << 20 | minor */
	sp_u32 generation;
};

struct sp_check { /* of the self-test: addr goes in, what is mapped there comes out */
	sp_u64 addr;
	sp_u64 start, end, pgoff;
	sp_u64 is_own; /* the mapping names our own address space */
	struct sp_file_key key;
	struct sp_fsroot_key fsroot; /* our own */
};

enum { SP_KERNEL_NAME_BYTES = 640 }; /* a symbol of the kernel has at most 511 */
struct sp_kernel_name_ask {          /* an address goes in, what the kernel calls it comes out: */
	sp_u64 address;
	char text[SP_KERNEL_NAME_BYTES]; /* "NAME+0xOFFSET/0xSIZE [MODULE]" */
};

/* What a tick of a clock event stands for: changed together with the events' periods (see sp_weight()). */
struct sp_ticks {
	sp_u64 period_ns;  /* 0: the event's own period */
	sp_u64 longest_ns; /* the longest time between two ticks over a change; after a longer one the CPU was away */
	sp_u32 change;     /* counted up at a change's beginning and end: odd while the events are being changed */
	sp_u32 recipe;     /* number of the recipe that this is about */
};

struct sp_process_key { /* start_ns: CLOCK_BOOTTIME */
	sp_u64 start_ns;
	sp_u32 tgid;
	sp_u32 exec_id; /* changes at each execve: another program under the same number */
};

/*
 * When a sample was taken: the time since from_ns (CLOCK_MONOTONIC) in units of some 4 ms, rounded down by the mask; 0
 * if from_ns is 0. The user half changes both, and makes slices of these units.
 */
enum { SP_SLICE_SHIFT = 22 };
struct sp_slicing {
	sp_u64 from_ns;
	sp_u32 mask, pad;
};
static inline sp_u32 sp_slice_unit(const volatile struct sp_slicing *s, sp_u64 now_ns)
{
	sp_u64 from_ns = s->from_ns;

	return from_ns && now_ns > from_ns ? (sp_u32)((now_ns - from_ns) >> SP_SLICE_SHIFT) & s->mask : 0;
}

/* The key of a counted row. Stack ids are hashes of frames and stop; 0 = no stack. */
struct sp_count_key {
	sp_u64 user_stack;
	sp_u64 kernel_stack;
	struct sp_process_key process;
	char comm[SP_COMM_LEN];
	sp_u32 slice_unit;
	sp_u16 recipe; /* which of the session's */
	sp_u16 state;  /* of a thread that did not run: enum sp_task_state; 0 = not told */
	/* Last: tables of sessions that do not ask for them have keys without (sp_config.objects, wakers). */
	sp_u64 object; /* what the event was about (struct sp_message_object), with SP_OBJECT_MAJOR; 0 = not told */
	sp_u64 waker;  /* of a wait: who ended it (struct sp_message_waker); 0 = nobody, or not seen */
};
struct sp_count {
	sp_u64 n;
	sp_u64 weight; /* the recipe's second value: ns for cpu */
};

/* What a thread was doing while it did not run. */
enum sp_task_state {
	SP_TASK_UNKNOWN,
	SP_TASK_PREEMPTED, /* ready to run */
	SP_TASK_SLEEPING,
	SP_TASK_DISK, /* uninterruptible */
	SP_TASK_STOPPED,
	SP_TASK_RUNNING, /* it does run: a sample of a recipe that has both */
	SP_TASK_WOKEN,   /* ready to run, since its wait is over: told where wakers are */
	SP_N_TASK_STATES,
};

/*
 * What an address lies in. A number of a page fault's object is (kind << 8), if that says all, else a hash with
 * SP_OBJECT_HASH, whose file was sent. That of a lock is always a hash, of its process and address.
 */
enum sp_object_kind {
	SP_OBJECT_NONE,  /* nothing is mapped there */
	SP_OBJECT_FILE,  /* a file that is only read, or shared */
	SP_OBJECT_CODE,  /* a file's executable mapping */
	SP_OBJECT_DATA,  /* a file's private copy, with the memory behind it that its image is to have (.bss) */
	SP_OBJECT_HEAP,  /* of brk(2) */
	SP_OBJECT_STACK, /* the process's, or that of the current thread */
	SP_OBJECT_ANON,
	SP_OBJECT_VDSO,
	SP_OBJECT_VVAR,
	SP_N_OBJECT_KINDS,
};
#define SP_OBJECT_KIND_SHIFT 8
#define SP_OBJECT_HASH 1ULL
#define SP_OBJECT_MAJOR 2ULL /* in a row's key: the fault had to wait for a disk */

enum sp_message_type {
	SP_MESSAGE_FILE = 1,
	SP_MESSAGE_PROCESS,
	SP_MESSAGE_STACK,
	SP_MESSAGE_PENDING,
	SP_MESSAGE_STACK_ABOVE,
	SP_MESSAGE_OBJECT,
	SP_MESSAGE_WAKER,
};

struct sp_message_file {
	sp_u32 type;
	sp_u32 id;
	struct sp_file_key key;
	sp_u64 start, end, pgoff; /* the mapping where it was seen; pgoff in bytes */
	sp_u32 tgid;              /* in the user's pid namespace; 0 = it has no number there */
	sp_u32 is_new;            /* its id is in new_files, not in files */
	sp_u32 uid, pad;          /* uid: of the process that was sampled, as the first user namespace has it */
	char name[SP_NAME_LEN];   /* last component of the path, shortened to fit */
};

#define SP_PID_HIDDEN 0xffffffffu
struct sp_pid_pair { /* a process or thread: its number in the user's pid namespace, and in the first one */
	sp_u32 shown, number;
};

struct sp_message_process {
	sp_u32 type;
	sp_u32 id; /* anonymous regions name the process by it */
	struct sp_process_key key;
	sp_u32 ns_tgid; /* in its own PID namespace */
	sp_u32 uid;
	sp_u32 exe; /* file id, 0 = unknown */
	sp_u32 pid; /* in the user's pid namespace; 0 = the same as key.tgid, SP_PID_HIDDEN = it has no number there */
	sp_u64 cgroup;
	struct sp_fsroot_key fsroot;
	char comm[SP_COMM_LEN]; /* of the thread-group leader */
};

struct sp_message_object {
	sp_u32 type;
	sp_u32 kind;
	sp_u64 id;
	/*
	 * The address; of a file's with image 0 that of its symbol tables. Otherwise its headers could not be read: the
	 * image begins there, and memory without a file (ANON) may be its .bss.
	 */
	sp_u64 at, image;
	struct sp_file_key key;
	char name[SP_NAME_LEN]; /* of the file, as in struct sp_message_file */
};

struct sp_message_waker { /* the thread that woke another; its stacks are sent before, or named by a ticket */
	sp_u32 type;
	sp_u32 pad;
	sp_u64 id;
	struct sp_process_key process;
	char comm[SP_COMM_LEN];
	sp_u64 user_stack, kernel_stack;
};

struct sp_message_stack {
	sp_u32 type;
	sp_u16 n_frames; /* SP_MAX_FRAMES at most */
	sp_u16 stop;     /* enum sp_stop | SP_STACK_HAS_GUESS; kernel stacks: SP_STOP_COMPLETE */
	sp_u64 id;
	sp_u32 n_left_out; /* walked, but not in frames[] */
	sp_u32 uid;        /* who ran when it was sent */
	/* sp_u64 frames[n_frames] follow, leaf first; if some are left out, the last ones are a ring (sp_frame_slot) */
};

/*
 * The slot of frame number n. Of a stack with more than SP_MAX_FRAMES the middle is left out: each further frame takes
 * the slot of the one SP_ROOT_FRAMES before it, so that in the end those next to the root are there.
 */
static inline sp_u32 sp_frame_slot(sp_u32 n)
{
	sp_u32 leaf = SP_MAX_FRAMES - SP_ROOT_FRAMES;

	return n < leaf ? n : leaf + (n & (SP_ROOT_FRAMES - 1));
}

/* What is known about a machine state. */
#define SP_HOW_EXACT 1u         /* ip is where the thread is, not a return address */
#define SP_HOW_FIRST 2u         /* the sample's own, nothing was walked yet */
#define SP_HOW_NO_FP 4u         /* fp is lost */
#define SP_HOW_GUESSED 8u       /* reached by a guess */
#define SP_HOW_RUNTIME 16u      /* reached by what a runtime tells of its frames */
#define SP_HOW_DERIVED 32u      /* reached by a derived rule */
#define SP_HOW_BARE 64u         /* was called, but has no frame yet */
#define SP_HOW_TOP 128u         /* called by what never returns, from where a stack may begin */
#define SP_HOW_REGS 0xffff0000u /* a bit for each of r[] that holds */
#define SP_HOW_REGS_SHIFT 16

/* A machine state to step from; r[] in DWARF order. A register without its bit in `how` has the sample's value. */
struct sp_regs {
	sp_u64 ip;
	sp_u64 sp;
	sp_u64 fp;
	sp_u64 r[16];
};

struct sp_map { /* an executable mapping */
	sp_u64 start, end;
	sp_u64 shift_by; /* offset of an address in its file or region = address + shift_by */
	sp_u64 word;     /* kind and id of its frame words */
};

enum { SP_PENDING_SENT = SP_NEAR_FRAMES * 8 + SP_PENDING_MAPS * sizeof(struct sp_map) + SP_PENDING_STACK };

/* A part of a stack that is larger than SP_PENDING_STACK, sent before its sample. */
struct sp_message_stack_above {
	sp_u32 type;
	sp_u32 bytes;
	sp_u64 id; /* of the sample; the lowest byte is the CPU's number */
	sp_u64 at; /* user address of what follows: a multiple of SP_PENDING_STACK */
	sp_u32 holes;
	sp_u32 pad;
};

struct sp_message_pending {
	sp_u32 type;
	sp_u32 n_maps;
	/* user_stack: 0, or the ticket that rows name in place of the stack */
	struct sp_count_key key;
	struct sp_count value;
	struct sp_regs regs;
	sp_u32 waits_for; /* file id */
	sp_u32 stack_bytes;
	sp_u32 holes; /* a bit for each page of the stack that could not be read, beginning with that of stack_at */
	sp_u32 has_more_maps;      /* not all executable mappings were looked at */
	sp_u32 how;                /* SP_HOW_* of regs */
	sp_u32 n_frames;           /* walked before the table was missed: SP_NEAR_FRAMES at most, when it is sent */
	sp_u32 guessed;            /* SP_STACK_HAS_GUESS, if one of those was */
	sp_u32 code_bytes;         /* SP_CODE_BYTES, or 0: not readable */
	sp_u8 code[SP_CODE_BYTES]; /* around regs.ip, from SP_CODE_BEFORE bytes before it: whether a leaf has a frame */
	sp_u64 stack_at; /* user address of the copy's first byte: the stack pointer, or SP_RED_ZONE bytes below it */
	sp_u64 above;    /* id of the parts that lie above the copy, or 0 */
	struct sp_message_stack deep; /* the head of frames[] as a message of its own */
	union {
		sp_u8 sent[SP_PENDING_SENT];  /* as much as there is of frames, mappings and stack, without gaps */
		sp_u64 frames[SP_MAX_FRAMES]; /* of a deep stack while it is walked, in either half */
	};
};

/*
 * A thread that waited when the sampling began (bpf/blocked.bpf.h). Behind it come `bytes` of a struct
 * sp_message_pending, up to its mappings; its stack is read later.
 */
struct sp_message_blocked {
	sp_u64 task;        /* its address */
	sp_u64 n_switches;  /* how often it has stopped running */
	sp_u64 ran_ns;      /* how long it has run in all */
	sp_u64 call;        /* the system call that it is in, as SP_BUILTIN_CALL */
	sp_u64 stack_bytes; /* from stack_at to the end of the stack's mapping; 0: not known */
	sp_u64 since_ns;    /* its stamp, where stamps are asked for */
	sp_u32 stamp_state;
	sp_u32 bytes;
	sp_u32 flags, state; /* of the task */
	sp_u32 tid;          /* in the user's pid namespace; 0 = it has no number there */
	sp_u32 stop;         /* why it has no user stack; SP_N_STOPS: it has one */
	sp_u32 has_maps;     /* 0: they are those of the thread before */
	sp_u32 pad;
};

/* Where in sent[] the mappings and the stack begin. */
static inline sp_u32 sp_pending_maps_at(const struct sp_message_pending *r)
{
	return r->n_frames * sizeof(sp_u64);
}
static inline sp_u32 sp_pending_stack_at(const struct sp_message_pending *r)
{
	return sp_pending_maps_at(r) + r->n_maps * sizeof(struct sp_map);
}

/* What the user half decides before it loads the programs. */
enum sp_unwind_mode { SP_UNWIND_AUTO, SP_UNWIND_DWARF, SP_UNWIND_FP };
enum sp_target_filter { SP_TARGETS_ALL, SP_TARGETS_TGID, SP_TARGETS_TID };
/* In the cookie of a perf event, above the recipe's number. */
enum {
	SP_COOKIE_RECIPE = 0xff,
	SP_COOKIE_MEMORY = 0x100, /* a page fault: its object is what was touched */
	SP_COOKIE_MAJOR = 0x200,
};
enum sp_target { SP_TARGET_AFTER_EXEC = 1, SP_TARGET_WANTED }; /* values of map `targets` */
struct sp_config {
	sp_u32 unwind;             /* enum sp_unwind_mode */
	sp_u32 filter;             /* enum sp_target_filter: which numbers map `targets` holds */
	sp_u32 user, kernel, idle; /* which stacks are wanted; and samples of the idle task */
	sp_u32 seek_targets;       /* look for the files of the targets only */
	sp_u32 time_own;           /* count the time that the programs take: SP_N_OWN_NS */
	sp_u32 cgroup_level;       /* of the only cgroup wanted */
	sp_u64 cgroup;             /* its id; 0 = all */
	sp_u32 nests;              /* more than one program samples, and one may come within another */
	sp_u32 n_recipes;          /* more than 1: keys tell the recipe of a sample */
	sp_u32 guards;             /* events may be thinned and capped (event/guard.h) */
	sp_u32 objects, wakers;    /* keys have what the event is about, and who ended a wait */
	sp_u32 usual;              /* the stacks in which threads wait are remembered (bpf/usual.bpf.h) */
	sp_u32 stamps;   /* threads are stamped when they leave, and walked when they are back (bpf/stamp.bpf.h) */
	sp_u32 is_live;  /* allocations count until they are freed (bpf/live.bpf.h) */
	sp_u32 users;    /* new files of users in the map over_users are not announced one by one */
	sp_u64 older_ns; /* is_live: younger allocations do not count; 0: all do */
};

/* What the kernel half counts, each on its own CPU. */
enum sp_counter {
	SP_N_SAMPLES,     /* kept: passed the filters */
	SP_N_KERNEL,      /* of these, in kernel mode */
	SP_N_IDLE,        /* left out: the idle task */
	SP_N_FILTERED,    /* left out by -p, --tid, --cgroup, -U, -K; a front does not count what it leaves out */
	SP_N_USER_FRAMES, /* walked */
	SP_N_VMA_WALKS,
	SP_N_STACKS_SENT,
	SP_N_PENDING, /* sent to the user half for completion */
	/* Losses. */
	SP_N_LOST_PENDING,    /* no room in the ring for one of these: its stack was cut */
	SP_N_LOST_STACKS,     /* no room in the ring for a new stack's frames (sent again at its next sample) */
	SP_N_LOST_FILES,      /* no room for a new file, in the ring or in new_files (announced again) */
	SP_N_LOST_PROCESSES,  /* no room for a new process */
	SP_N_LOST_COUNTS,     /* the table of counts was full: samples lost */
	SP_N_LOST_NESTED,     /* a sample inside a sample: lost */
	SP_N_LOST_EPISODES,   /* no room for another open episode */
	SP_N_LOST_ENDS,       /* episodes whose end was not seen */
	SP_N_LOST_TARGETS,    /* no room to follow a new process of the command */
	SP_N_LOST_OBJECTS,    /* no room in the ring for what an event was about */
	SP_N_LOST_WAKERS,     /* waits that somebody has ended who was not seen */
	SP_N_LOST_LIVE,       /* no room to remember an allocation: when it is freed is not seen */
	SP_N_LOST_CALLS,      /* calls that allocate whose end was not seen; or on stacks where that is not safe */
	SP_N_LOST_ARGUMENTS,  /* events of marks that have an argument in memory that could not be read */
	SP_N_FREED_UNSEEN,    /* no loss: blocks that were freed and had been there before all are sampled */
	SP_N_PROGRAMS,        /* that the command and its children executed: all; of these */
	SP_N_PROGRAMS_SECURE, /* set-user-id, or with capabilities of their own */
	SP_N_PROGRAMS_STATIC, /* and others without a dynamic linker */
	SP_N_OWN_NS,          /* time spent in the programs themselves, if sp_config.time_own */
	SP_N_COUNTERS,
};

#endif

// WASI preview 1 with fixed answers: files in memory, read-only; a clock that starts in 2000; the same random numbers each
// time. No file, no environment and no clock of this machine.

const [OK, BAD_FILE, NO_ENTRY, READ_ONLY] = [0, 8, 44, 69];
const [DIRECTORY, FILE, CHARACTERS] = [3, 4, 2];
const ROOT = 3;
const START = BigInt(Date.UTC(2000, 0, 1)) * 1_000_000n;
const TICK = 1000n;
const SEED = 0x9e3779b9;

/** End of the program by `proc_exit`. */
export class Exit extends Error {
  constructor(code) {
    super(`exit code ${code}`);
    this.code = code;
  }
}

/**
 * Imports for a module; `attach` has to be called with its memory. `files` are texts by name, in the folder `/`; `errors`
 * returns what was written to standard error.
 */
export function fixedWasi({ environment, input, files }) {
  const contents = new Map(Object.entries(files).map(([name, text]) => [name, Buffer.from(text)]));
  const open = new Map([[0, { content: Buffer.from(input), at: 0 }]]);
  const variables = Object.entries(environment).map(([name, value]) => Buffer.from(`${name}=${value}\0`));
  const written = [];
  let memory;
  let now = START;
  let state = SEED;

  const view = () => new DataView(memory.buffer);
  const bytes = (at, size) => Buffer.from(memory.buffer, at >>> 0, size >>> 0);
  const put32 = (at, value) => view().setUint32(at >>> 0, value, true);
  const put64 = (at, value) => view().setBigUint64(at >>> 0, value, true);
  const random = () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return state & 0xff;
  };
  const pieces = (at, count) =>
    Array.from({ length: count }, (_, place) => {
      const here = (at >>> 0) + 8 * place;
      return bytes(view().getUint32(here, true), view().getUint32(here + 4, true));
    });
  /** Name of a path in the folder. */
  const named = (at, size) => bytes(at, size).toString().replace(/^[./]+/, "");
  const stat = (at, kind, size) => {
    bytes(at, 64).fill(0);
    view().setUint8((at >>> 0) + 16, kind);
    put64((at >>> 0) + 24, 1n);
    put64((at >>> 0) + 32, BigInt(size));
    return OK;
  };

  const calls = {
    args_sizes_get: (count, size) => (put32(count, 0), put32(size, 0), OK),
    args_get: () => OK,
    environ_sizes_get: (count, size) => {
      put32(count, variables.length);
      put32(size, variables.reduce((sum, text) => sum + text.length, 0));
      return OK;
    },
    environ_get: (places, texts) => {
      let at = texts >>> 0;
      variables.forEach((text, place) => {
        put32((places >>> 0) + 4 * place, at);
        text.copy(bytes(at, text.length));
        at += text.length;
      });
      return OK;
    },
    clock_time_get: (_clock, _precision, at) => (put64(at, (now += TICK)), OK),
    random_get: (at, size) => (bytes(at, size).forEach((_, place, all) => (all[place] = random())), OK),
    proc_exit: (code) => {
      throw new Exit(code);
    },
    fd_close: (fd) => (open.delete(fd) ? OK : BAD_FILE),
    fd_fdstat_get: (fd, at) => {
      if (fd > ROOT && !open.has(fd)) return BAD_FILE;
      bytes(at, 24).fill(0);
      view().setUint8(at >>> 0, fd < ROOT ? CHARACTERS : fd === ROOT ? DIRECTORY : FILE);
      put64((at >>> 0) + 8, 0xffffffffn);
      put64((at >>> 0) + 16, 0xffffffffn);
      return OK;
    },
    fd_fdstat_set_flags: () => OK,
    fd_prestat_get: (fd, at) => (fd === ROOT ? (put32(at, 0), put32((at >>> 0) + 4, 1), OK) : BAD_FILE),
    fd_prestat_dir_name: (fd, at, size) => (fd === ROOT ? (bytes(at, size).write("/"), OK) : BAD_FILE),
    fd_filestat_get: (fd, at) => {
      if (fd === ROOT) return stat(at, DIRECTORY, 0);
      return open.has(fd) ? stat(at, FILE, open.get(fd).content.length) : BAD_FILE;
    },
    path_filestat_get: (_fd, _flags, name, size, at) => {
      const path = named(name, size);
      if (path === "") return stat(at, DIRECTORY, 0);
      return contents.has(path) ? stat(at, FILE, contents.get(path).length) : NO_ENTRY;
    },
    path_open: (_folder, _how, name, size, _flags, _base, _inherited, _modes, at) => {
      const content = contents.get(named(name, size));
      if (content === undefined) return NO_ENTRY;
      let fd = ROOT + 1;
      while (open.has(fd)) fd++;
      open.set(fd, { content, at: 0 });
      put32(at, fd);
      return OK;
    },
    fd_read: (fd, list, count, at) => {
      const file = open.get(fd);
      if (!file) return BAD_FILE;
      const before = file.at;
      for (const piece of pieces(list, count)) file.at += file.content.copy(piece, 0, file.at);
      put32(at, file.at - before);
      return OK;
    },
    fd_seek: (fd, offset, whence, at) => {
      const file = open.get(fd);
      if (!file) return BAD_FILE;
      file.at = Number(offset) + [0, file.at, file.content.length][whence];
      put64(at, BigInt(file.at));
      return OK;
    },
    fd_write: (fd, list, count, at) => {
      if (fd !== 1 && fd !== 2) return BAD_FILE;
      const texts = pieces(list, count);
      written.push(...texts.map((piece) => Buffer.from(piece)));
      put32(at, texts.reduce((sum, piece) => sum + piece.length, 0));
      return OK;
    },
    fd_readdir: (_fd, _at, _size, _cookie, used) => (put32(used, 0), OK),
    path_remove_directory: () => READ_ONLY,
    path_unlink_file: () => READ_ONLY,
  };
  return {
    imports: { wasi_snapshot_preview1: calls },
    attach: (given) => (memory = given),
    errors: () => Buffer.concat(written).toString().trim(),
  };
}

import { closeSync, existsSync, fstatSync, openSync, readSync, renameSync, statSync } from 'node:fs';

const LARGEST = 16 * 1024 * 1024;

/** Opens a process's log for appending. A log that has grown too large is first renamed to `<file>.old`. */
export function openLog(file: string): { fd: number; start: number } {
  if (existsSync(file) && statSync(file).size > LARGEST) renameSync(file, `${file}.old`);
  const fd = openSync(file, 'a', 0o600);
  return { fd, start: fstatSync(fd).size };
}

/** Returns the log from `start` (a byte offset), at most its last 64 KiB. */
export function readLog(file: string, start = 0): string {
  if (!existsSync(file)) return '';
  const fd = openSync(file, 'r');
  try {
    const { size } = fstatSync(fd);
    const from = Math.max(start, size - 65_536);
    const buffer = Buffer.alloc(Math.max(0, size - from));
    return buffer.toString('utf8', 0, readSync(fd, buffer, 0, buffer.length, from));
  } finally {
    closeSync(fd);
  }
}

/** Returns the last lines of a log, each cut to a readable width. */
export function lastLines(text: string, count = 8): string {
  const lines = text.trimEnd().split('\n').slice(-count);
  return lines.map((line) => `  ${line.length > 300 ? `${line.slice(0, 300)}…` : line}`).join('\n');
}

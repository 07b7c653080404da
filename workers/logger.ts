import { writeSync } from 'node:fs';
import { DefaultLogger, type Logger } from '@temporalio/worker';
import { pino, type DestinationStream } from 'pino';

const PINO_LEVEL = { TRACE: 'trace', DEBUG: 'debug', INFO: 'info', WARN: 'warn', ERROR: 'error' } as const;
const STDERR = 2;

/** Creates a logger that writes JSON lines to stderr, Temporal's own among them. */
export function createLogger(level: 'trace' | 'debug' | 'info' | 'warn' | 'error'): Logger {
  const lines = pino(
    { level, base: { pid: process.pid }, formatters: { level: (label) => ({ level: label }) } },
    linesTo(STDERR),
  );
  const temporalLevel = level.toUpperCase() as Uppercase<typeof level>;
  return new DefaultLogger(temporalLevel, ({ level: entryLevel, message, meta }) => {
    lines[PINO_LEVEL[entryLevel]](meta ?? {}, message);
  });
}

/**
 * Writes each line at once, or drops it: a log on a full disk must not hold up the worker. pino's own destination tries
 * a line again until it is written, and the process does nothing else. Before the first line that can be written again
 * comes one that says how many are missing.
 */
function linesTo(file: number): DestinationStream {
  let lost = 0;
  /** Whether the last line was written in part. */
  let isCut = false;
  const isWritten = (line: string): boolean => {
    try {
      const text = Buffer.from(isCut ? `\n${line}` : line);
      const written = writeSync(file, text);
      if (written > 0) isCut = written < text.length;
      return written === text.length;
    } catch {
      return false;
    }
  };
  return {
    write(line) {
      if (lost > 0 && isWritten(missing(lost))) lost = 0;
      if (lost > 0 || !isWritten(line)) lost++;
    },
  };
}

const missing = (lines: number): string =>
  `${JSON.stringify({ level: 'warn', time: Date.now(), pid: process.pid, lines, msg: 'lines of this log could not be written' })}\n`;

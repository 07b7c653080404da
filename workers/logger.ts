import { DefaultLogger, type Logger } from '@temporalio/worker';
import { pino } from 'pino';

const PINO_LEVEL = { TRACE: 'trace', DEBUG: 'debug', INFO: 'info', WARN: 'warn', ERROR: 'error' } as const;

/** Creates a logger that writes JSON lines to stderr, Temporal's own among them. */
export function createLogger(level: 'trace' | 'debug' | 'info' | 'warn' | 'error'): Logger {
  const lines = pino(
    { level, base: { pid: process.pid }, formatters: { level: (label) => ({ level: label }) } },
    pino.destination(2),
  );
  const temporalLevel = level.toUpperCase() as Uppercase<typeof level>;
  return new DefaultLogger(temporalLevel, ({ level: entryLevel, message, meta }) => {
    lines[PINO_LEVEL[entryLevel]](meta ?? {}, message);
  });
}

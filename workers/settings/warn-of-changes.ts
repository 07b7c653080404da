import { unwatchFile, watchFile } from 'node:fs';

const LOOK_MS = 5_000;

/**
 * Says in the log when the settings file changes. A worker keeps the settings that it started with: half of them can't
 * change while it runs, and all workers would change at once.
 */
export function warnOfChanges(
  path: string,
  logger: { warn: (message: string, about: object) => void },
  stop: AbortSignal,
): void {
  const warn = (): void =>
    logger.warn('the settings file has changed: restart this worker for what it says now', { file: path });
  watchFile(path, { interval: LOOK_MS, persistent: false }, warn);
  stop.addEventListener('abort', () => unwatchFile(path, warn), { once: true });
}

import type { EventEmitter } from 'node:events';
import type { Logger } from '@temporalio/worker';

interface LastResortOptions {
  logger: Logger;
  /** Called for each fault. */
  onFault: (kind: 'exception' | 'rejection') => void;
  /** Asks the process to shut down gracefully: running work gets time to finish. */
  drain: () => void;
  process?: Pick<EventEmitter, 'on'> & { exitCode?: number | string | null | undefined };
}

/**
 * Handles uncaught errors. What such an error left half done is unknown, so the process takes no more work, finishes
 * what it has begun, and exits with 1, for its supervisor to restart it. What is durable is in Temporal and in the
 * cluster.
 */
export function endOnFault({ logger, onFault, drain, process: proc = process }: LastResortOptions): void {
  let isEnding = false;
  const fault =
    (kind: 'exception' | 'rejection') =>
    (error: unknown): void => {
      onFault(kind);
      logger.error('uncaught error: the worker shuts down and must be restarted', {
        kind,
        error: error instanceof Error ? (error.stack ?? error.message) : String(error),
      });
      proc.exitCode = 1;
      if (isEnding) return;
      isEnding = true;
      drain();
    };
  proc.on('uncaughtException', fault('exception'));
  proc.on('unhandledRejection', fault('rejection'));
}

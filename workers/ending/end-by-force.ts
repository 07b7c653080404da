import type { Logger } from '@temporalio/worker';

/** Longer than running work gets to end, and shorter than Kubernetes waits before it kills the process (45 s). */
const FORCE_MS = 40_000;

interface EndByForceOptions {
  /** Aborted when the process is asked to stop. */
  stop: AbortSignal;
  logger: Pick<Logger, 'error'>;
  exit?: (code: number) => void;
}

/**
 * Ends the process with 1 if work hangs after it was asked to stop. A worker that has lost a server ends its work, too,
 * but has all the time that this takes: it stays, and takes work again later.
 */
export function endByForce({ stop, logger, exit = (code) => process.exit(code) }: EndByForceOptions): void {
  const force = (): void => {
    logger.error('work has not ended in time after the process was asked to stop: it is left as it is', {
      seconds: FORCE_MS / 1000,
    });
    exit(1);
  };
  stop.addEventListener('abort', () => setTimeout(force, FORCE_MS).unref(), { once: true });
}

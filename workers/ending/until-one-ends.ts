import type { Logger } from '@temporalio/worker';

/**
 * Ends the worker once `reason` has come, to be started again by its supervisor. `why`: the line that it leaves in its
 * log.
 */
export async function endOn(reason: Promise<void>, why: string, logger: Logger): Promise<void> {
  try {
    await reason;
  } catch (error) {
    if (isAbort(error)) return;
    throw error;
  }
  logger.warn(`${why}: the worker ends, to be started again`);
  process.exitCode = 1;
}

/** Ends all parts when one ends, and throws the error of the part that failed. */
export async function untilOneEnds(
  stopping: AbortController,
  parts: Promise<void>[],
  drain: () => void,
): Promise<void> {
  const ends = parts.map((part) =>
    part.finally(() => {
      stopping.abort();
      drain();
    }),
  );
  const results = await Promise.allSettled(ends);
  const failed = results.find((result) => result.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
}

export const isAbort = (error: unknown): boolean => error instanceof Error && error.name === 'AbortError';

import type { Logger } from '@temporalio/worker';

/**
 * Ends the worker once `reason` has come, to be started again by its supervisor. `why`: the line that it leaves in its
 * log.
 */
export async function endOn(reason: Promise<void>, message: string, logger: Logger): Promise<void> {
  try {
    await reason;
  } catch (error) {
    if (isAbort(error)) return;
    throw error;
  }
  logger.warn(`${message}: the worker ends, to be started again`);
  process.exitCode = 1;
}

/** Ends all parts when one ends. Throws the error of the part that failed first: others may fail because of that. */
export async function untilOneEnds(
  stopping: AbortController,
  parts: Promise<void>[],
  drain: () => void,
): Promise<void> {
  const errors: unknown[] = [];
  const end = (): void => {
    stopping.abort();
    drain();
  };
  await Promise.all(
    parts.map((part) =>
      part.then(end, (error: unknown) => {
        errors.push(error);
        end();
      }),
    ),
  );
  if (errors.length > 0) throw errors[0];
}

export const isAbort = (error: unknown): boolean => error instanceof Error && error.name === 'AbortError';

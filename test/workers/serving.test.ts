import type { Worker } from '@temporalio/worker';
import { expect, test } from 'vitest';
import { Serving, type ServingOptions } from '../../workers/serving.ts';

/** A worker that runs until it is shut down, or fails by itself. */
class FakeWorker {
  #state = 'INITIALIZED';
  readonly #ended = Promise.withResolvers<void>();

  getState = (): string => this.#state;

  run(): Promise<void> {
    this.#state = 'RUNNING';
    return this.#ended.promise;
  }

  async runUntil(promise: Promise<void>): Promise<void> {
    const run = this.run();
    await promise;
    this.shutdown();
    await run;
  }

  shutdown(): void {
    this.#state = 'STOPPED';
    this.#ended.resolve();
  }

  fail(error: Error): void {
    this.#state = 'FAILED';
    this.#ended.reject(error);
  }
}

const made: FakeWorker[] = [];
const aWorker = (): Promise<Worker> => {
  const worker = new FakeWorker();
  made.push(worker);
  return Promise.resolve(worker as unknown as Worker);
};
const servingOf = (
  fields: Partial<ServingOptions> & Pick<ServingOptions, 'create'>,
): { serving: Serving; stop: AbortController; recentErrors: string[]; served: Promise<void> } => {
  made.length = 0;
  const stop = new AbortController();
  const recentErrors: string[] = [];
  const served = Promise.withResolvers<void>();
  const cache = { lost: new AbortController().signal };
  const onProblem = ({ message }: Error): void => void recentErrors.push(message);
  return {
    serving: new Serving({ cache, stop: stop.signal, onServing: served.resolve, onProblem, ...fields }),
    stop,
    recentErrors,
    served: served.promise,
  };
};

test('a worker that Temporal rejects is created again, and none of the others leaks', async () => {
  let attempt = 0;
  const create = (): Promise<Worker>[] => [
    aWorker(),
    attempt++ === 0 ? Promise.reject(new Error('deadline exceeded')) : aWorker(),
  ];
  const { serving, recentErrors, served } = servingOf({ create });
  const run = serving.run();
  await served;
  expect(recentErrors).toEqual(['deadline exceeded']);
  expect(made.map(({ getState }) => getState())).toEqual(['STOPPED', 'RUNNING', 'RUNNING']);
  expect(serving.isServing).toBe(true);
  serving.drain();
  await run;
});

test('a process that is asked to end stops trying', async () => {
  const { serving, stop, recentErrors } = servingOf({ create: () => [Promise.reject(new Error('deadline exceeded'))] });
  const run = serving.run();
  await expect.poll(() => recentErrors).toHaveLength(1);
  stop.abort();
  await run;
  expect(recentErrors).toHaveLength(1);
});

test('a worker that cannot continue takes the others with it, and its error is reported', async () => {
  const { serving, served } = servingOf({ create: () => [aWorker(), aWorker()] });
  const run = serving.run();
  await served;
  made[0]!.fail(new Error('the namespace is gone'));
  await expect(run).rejects.toThrow('the namespace is gone');
  expect(made[1]!.getState()).toBe('STOPPED');
});

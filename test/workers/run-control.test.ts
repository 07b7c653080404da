import { WorkflowFailedError } from '@temporalio/client';
import { ApplicationFailure, RetryState } from '@temporalio/common';
import { MockActivityEnvironment } from '@temporalio/testing';
import { expect, test } from 'vitest';
import { RESTORED } from '../../decisions/operations/restored.ts';
import { runControl } from '../../workers/operations/run-control.ts';

const withAbortSignal = <T>(_signal: AbortSignal, act: () => T): T => act();

/** What is told of a run that has ended with this failure. */
function stateAfter(cause: Error): Promise<unknown> {
  const handle = {
    describe: () => Promise.resolve({ status: { name: 'FAILED' }, raw: {} }),
    result: () => Promise.reject(new WorkflowFailedError('it failed', cause, RetryState.NON_RETRYABLE_FAILURE)),
    query: () => Promise.resolve(null),
  };
  const client = { workflow: { getHandle: () => handle }, withAbortSignal } as never;
  const environment = new MockActivityEnvironment({}, { client });
  return environment.run(() => runControl('default').state({ namespace: 'shop', name: 'restart', uid: 'u' }));
}

test.each([
  [
    'a worker could not replay',
    ApplicationFailure.nonRetryable('[TMPRL1100] Nondeterminism error: No command scheduled'),
  ],
  ['has seen the API server restored', ApplicationFailure.nonRetryable('the API server was restored', RESTORED)],
])('a run that %s is missing, so that its operation begins another', async (_, failure) => {
  expect(await stateAfter(failure)).toEqual({ is: 'missing' });
});

test('a run that has failed otherwise has ended', async () => {
  const failure = ApplicationFailure.nonRetryable('you may not', 'Refused');
  expect(await stateAfter(failure)).toEqual({ is: 'ended', progress: null, reason: 'Refused', message: 'you may not' });
});

import { resolve } from 'node:path';
import { Client, WorkflowFailedError } from '@temporalio/client';
import { ApplicationFailure, RetryState } from '@temporalio/common';
import { encodeErrorToFailure } from '@temporalio/common/lib/internal-non-workflow/codec-helpers.js';
import { MockActivityEnvironment } from '@temporalio/testing';
import { expect, test } from 'vitest';
import { RESTORED } from '../../decisions/operations/restored.ts';
import { loadDataConverter } from '../../workers/data-converter.ts';
import { runControl } from '../../workers/operations/run-control.ts';
import { failureConverterPath } from '../../workers/workflows-path.ts';

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

test('an activity that keeps failing is told with its reason, also if the reason is encoded in Temporal', async () => {
  const dataConverter = (await loadDataConverter(resolve(import.meta.dirname, '../fixtures/codec.js')))!;
  const failures = { failureConverterPath };
  const { options } = new Client({ connection: {} as never, dataConverter: { ...dataConverter, ...failures } });
  const lastFailure = await encodeErrorToFailure(
    options.loadedDataConverter,
    ApplicationFailure.create({ message: 'vm web-3: denied', cause: new Error('vm web-3: denied') }),
  );
  expect(JSON.stringify(lastFailure)).not.toContain('web-3');
  const pendingActivities = [{ activityType: { name: 'changePower' }, attempt: 5, lastFailure }];
  const handle = {
    describe: () => Promise.resolve({ status: { name: 'RUNNING' }, raw: { pendingActivities } }),
    query: () => Promise.resolve(null),
  };
  const client = { workflow: { getHandle: () => handle }, withAbortSignal, options } as never;
  const state = await new MockActivityEnvironment({}, { client }).run(() =>
    runControl('default').state({ namespace: 'shop', name: 'restart', uid: 'u' }),
  );
  const why = 'the start, stop or restart of VMs has failed 4 times, and is tried again: vm web-3: denied';
  expect(state).toEqual({ is: 'running', progress: null, troubles: [why] });
});

test('a run that has failed otherwise has ended', async () => {
  const failure = ApplicationFailure.nonRetryable('you may not', 'Refused');
  expect(await stateAfter(failure)).toEqual({ is: 'ended', progress: null, reason: 'Refused', message: 'you may not' });
});

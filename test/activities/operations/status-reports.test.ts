import { MockActivityEnvironment } from '@temporalio/testing';
import { expect, test } from 'vitest';
import type { Authority } from '../../../activities/operations/authority.ts';
import { StatusReports } from '../../../activities/operations/status-reports.ts';
import type { OperationStatus } from '../../../api/operations/operation.ts';
import type { KubeClient } from '../../../kubernetes/client.ts';
import { anOperation, aProgress } from '../../decisions/operations/operations.ts';

const REF = { namespace: 'shop', name: 'restart', uid: 'uid' };

/** Reports of an operation that is just so, and the statuses that they write. */
function aReport(operation = anOperation({}, REF)) {
  const written: OperationStatus[] = [];
  const client = {
    get: () => Promise.resolve(operation),
    patch: (...[, , , patch]: Parameters<KubeClient['patch']>) => {
      const status = (patch as { path: string; value: OperationStatus }[]).find(
        ({ path }) => path === '/status',
      )!.value;
      written.push(status);
      return Promise.resolve({ ...operation, status });
    },
  } as unknown as KubeClient;
  const reports = new StatusReports({ client, workflowIdOf: () => 'operation' });
  const authority = { operation, current: operation } as unknown as Authority;
  return { reports, authority, written };
}

test('the status is written once a second at most, however many activities report, and how often', async () => {
  const { reports, authority, written } = aReport();
  const call = (done: number): Promise<void> =>
    new MockActivityEnvironment().run(() =>
      reports.during(REF, authority, (tell) => {
        for (let n = 0; n < done; n++) tell(aProgress({ done }));
        return Promise.resolve();
      }),
    );
  await call(2);
  await call(3);
  expect(written.map(({ vms }) => vms?.done)).toEqual([2]);
});

test.each([
  ['the second time', 2, 'operation', 0],
  ['the third time', 3, 'operation', 1],
  ['the third time, of a workflow that is made up', 3, 'made-up', 0],
])('an activity that fails %s', async (_, attempt, workflowId, times) => {
  const { reports, written } = aReport(anOperation({}, REF, {}));
  const environment = new MockActivityEnvironment({ attempt, workflowExecution: { workflowId, runId: '1' } });
  const failing = environment.run(() =>
    reports.watching(REF, 'a dry run', () => Promise.reject(new Error('it is away'))),
  );
  await expect(failing).rejects.toThrow('it is away');
  const message = 'a dry run has failed 3 times, and is tried again: it is away';
  expect(written).toEqual(Array.from({ length: times }, () => ({ waits: [{ message }] })));
});

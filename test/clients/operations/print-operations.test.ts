import { expect, test } from 'vitest';
import { operationFor } from '../../../clients/operations/make.ts';
import { linesOf } from '../../../clients/operations/print-operations.ts';
import { Session } from '../../../clients/session/session.ts';
import { actionReport } from '../../../decisions/operations/action-report.ts';
import { operationStatus } from '../../../decisions/operations/status.ts';
import { aProgress, anOperation, MADE_AT } from '../../decisions/operations/operations.ts';

test('an operation that no worker has seen says so', () => {
  expect(linesOf(anOperation(), Date.parse(MADE_AT))).toEqual([
    expect.stringMatching(/^shop\/nightly .* Pending$/),
    '  waiting for a worker to pick it up',
    '  Restart of VMs; requested by an unknown user',
  ]);
});

test('an operation that could not begin says why', () => {
  const end = { reason: 'NotFound', message: 'no VM was touched: there is no VM bd-2' } as const;
  const status = operationStatus(anOperation(), { progress: null, end, workflowId: 'w' }, MADE_AT);
  expect(linesOf(anOperation({}, {}, status), Date.parse(MADE_AT))).toEqual([
    expect.stringMatching(/^shop\/nightly .* NotFound$/),
    `  ${end.message}`,
    '  Restart of VMs; requested by an unknown user',
  ]);
});

test('the end of an operation that has begun is reported once, with its numbers', () => {
  const failed = [{ vm: 'shop/db-1', message: 'not ready in time' }];
  const progress = aProgress({ chosen: 1, open: 0, failed, phase: 'Failed' });
  const end = { reason: 'VmsFailed', message: '0 of 1 VM restarted, 1 failed' } as const;
  const status = operationStatus(anOperation(), { progress, end, workflowId: 'w' }, MADE_AT);
  expect(linesOf(anOperation({}, {}, status), Date.parse(MADE_AT))).not.toContain(`  ${end.message}`);
});

test('a complete operation says of VMs that are not done why nothing was to be done to them', () => {
  const progress = aProgress({ chosen: 4, open: 0, phase: 'Complete' });
  const status = operationStatus(
    anOperation(),
    { progress, end: actionReport(progress).end, workflowId: 'w' },
    MADE_AT,
  );
  expect(linesOf(anOperation({}, {}, status), Date.parse(MADE_AT))).toContain(
    '  0 of 4 VMs restarted; nothing to do for 4: stopped, deleted, or restarted meanwhile',
  );
});

const session = new Session({ cluster: 'default', namespace: 'shop' });
const asked: Parameters<typeof operationFor>[1] = {
  namespace: 'shop',
  action: 'Stop',
  vms: { names: ['db-1'] },
  maxFailures: 0,
  atOnce: 1,
  deadline: 60_000,
};

test('an empty reason counts as none', async () => {
  expect((await operationFor(session, { ...asked, reason: '' })).spec).not.toHaveProperty('reason');
  expect((await operationFor(session, { ...asked, reason: 'lunch' })).spec).toHaveProperty('reason', 'lunch');
});

test('windows are read as flags give them, and one that never opens is refused', async () => {
  const window = ['0 2 * * * 4h', '0 2 * * SUN  90m  Europe/Zurich'];
  expect((await operationFor(session, { ...asked, window })).spec.windows).toEqual([
    { cron: '0 2 * * *', duration: '4h' },
    { cron: '0 2 * * SUN', duration: '90m', timeZone: 'Europe/Zurich' },
  ]);
  expect((await operationFor(session, asked)).spec).not.toHaveProperty('windows');
  await expect(operationFor(session, { ...asked, window: ['0 2 30 2 * 4h'] })).rejects.toThrow(
    '--window: "0 2 30 2 * 4h" is not a valid window: ',
  );
});

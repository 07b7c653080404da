import { Registry } from 'prom-client';
import { expect, test } from 'vitest';
import type { StoredOperation } from '../../../decisions/views/stored-operation.ts';
import { operationGauges, scheduleGauges } from '../../../workers/metrics/operation-gauges.ts';
import { anOperation } from '../../decisions/operations/operations.ts';
import { aSchedule } from '../../decisions/schedules/schedules.ts';

const at = '2026-01-02T03:04:05Z';
const stands = (reason: string) => [{ type: 'Progressing', status: 'True' as const, reason, lastTransitionTime: at }];
const vms = { chosen: 9, done: 3, failed: 1, inProgress: 2, open: 3, excluded: 0 };

async function measured(operations: StoredOperation[], schedules = [aSchedule(at)]): Promise<string[]> {
  const registry = new Registry();
  operationGauges(registry).look(operations);
  scheduleGauges(registry).look(schedules);
  return (await registry.metrics()).split('\n').filter((line) => line.startsWith('drover_'));
}

test('operations are counted by their state, and their VMs as long as they go on', async () => {
  const labels = 'namespace="shop",action="Migrate"';
  const migrate = { action: 'Migrate' } as const;
  const lines = await measured([
    anOperation(migrate, {}, { vms, conditions: stands('Migrating') }),
    anOperation(migrate, {}, { vms, conditions: stands('Migrating') }),
    anOperation(migrate, {}, { vms, completionTime: at, conditions: stands('VmsFailed') }),
    anOperation({ action: 'Stop' }),
  ]);
  expect(lines).toEqual([
    `drover_operations{${labels},state="Migrating"} 2`,
    `drover_operations{${labels},state="VmsFailed"} 1`,
    'drover_operations{namespace="shop",action="Stop",state="Pending"} 1',
    `drover_operation_vms{${labels},state="Done"} 6`,
    `drover_operation_vms{${labels},state="Failed"} 2`,
    `drover_operation_vms{${labels},state="InProgress"} 4`,
    `drover_operation_vms{${labels},state="Open"} 6`,
    `drover_operation_vms{${labels},state="Excluded"} 0`,
  ]);
});

test('a schedule reports when it last succeeded, and what is wrong with it', async () => {
  const conditions = [
    { type: 'Ready', status: 'True', reason: 'Scheduled', lastTransitionTime: at },
    { type: 'Succeeded', status: 'False', reason: 'Missed', lastTransitionTime: at },
  ] as const;
  const status = { lastSuccessfulTime: at, conditions: [...conditions] };
  expect(await measured([], [{ ...aSchedule(at), status }])).toEqual([
    'drover_schedule_problem{namespace="shop",schedule="stop",type="Succeeded",reason="Missed"} 1',
    `drover_schedule_last_success_timestamp_seconds{namespace="shop",schedule="stop"} ${Date.parse(at) / 1_000}`,
  ]);
});

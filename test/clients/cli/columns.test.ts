import { expect, test } from 'vitest';
import type { Stored } from '../../../api/objects.ts';
import { headersOf, rowOf, vmColumns } from '../../../clients/cli/columns.ts';
import { table } from '../../../clients/cli/output.ts';
import type { Vm } from '../../../clients/owners/members.ts';

const vm = (name: string, spec: Vm['spec']): Stored<Vm> => ({
  metadata: { namespace: 'shop', name, uid: name, resourceVersion: '1', creationTimestamp: '2020-01-01T00:00:00Z' },
  ...(spec === undefined ? {} : { spec }),
  status: { printableStatus: 'Stopped' },
});

function shown(wide: boolean, ...vms: Stored<Vm>[]): string[][] {
  const choice = { wide, namespaces: false };
  const lines = table(
    headersOf(vmColumns, choice),
    vms.map((one) => rowOf(vmColumns, choice, one)),
  );
  return lines.map((line) => line.split(/ {3,}/));
}

const TYPED = { runStrategy: 'Halted', template: { spec: { domain: { machine: { type: 'pc-q35-rhel8.6.0' } } } } };

test("`get vms -o wide` shows a VM's run strategy and machine type, and that it has none", () => {
  const [headers, ...rows] = shown(true, vm('db-1', TYPED), vm('db-2', { template: { spec: {} } }));
  const at = ['STRATEGY', 'MACHINE TYPE'].map((header) => headers!.indexOf(header));
  expect(at).not.toContain(-1);
  expect(rows.map((row) => at.map((column) => row[column]))).toEqual([
    ['Halted', 'pc-q35-rhel8.6.0'],
    ['<none>', '<none>'],
  ]);
});

test('without -o wide a table of VMs has neither', () => {
  expect(shown(false, vm('db-1', TYPED))[0]).toEqual(['NAME', 'STATUS', 'READY', 'POOL', 'REVISION', 'AGE', 'WHY']);
});

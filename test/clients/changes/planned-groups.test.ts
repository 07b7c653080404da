import { describe, expect, test } from 'vitest';
import { formatEdit, planChange } from '../../../clients/changes/planned-groups.ts';
import { changeNeed, type NeedInput } from '../../../decisions/changes/need.ts';
import { whyTemplated } from '../../../decisions/template/why-templated.ts';

const vm = (disks: object[], labels = {}) => ({
  metadata: { labels },
  spec: { template: { spec: { domain: { devices: { disks } } } } },
});
const CACHE = { spec: { template: { spec: { domain: { devices: { disks: [{ name: 'root', cache: 'none' }] } } } } } };

test('VMs are grouped by what differs and what they need', () => {
  const planned = [
    { name: 'a/1', vm: vm([{ name: 'root' }]), whyLeft: null },
    { name: 'a/2', vm: vm([{ name: 'root' }, { name: 'data' }]), whyLeft: null },
    { name: 'a/3', vm: vm([{ name: 'root', cache: 'writeback' }]), whyLeft: null },
    { name: 'a/4', vm: vm([{ name: 'root' }], { runs: 'no' }), whyLeft: null },
    { name: 'a/5', vm: vm([{ name: 'root', cache: 'none' }]), whyLeft: null },
    { name: 'a/6', vm: vm([{ name: 'data' }]), whyLeft: null },
    { name: 'a/7', vm: vm([{ name: 'root' }]), whyLeft: 'its template says it' },
  ];
  const plan = planChange(planned, CACHE, ({ metadata: { labels } }) => ('runs' in labels ? 'Start' : 'Restart'));
  expect(plan.groups.map(({ need, vms }) => [need, vms])).toEqual([
    ['Restart', ['a/1', 'a/2']],
    ['Restart', ['a/3']],
    ['Start', ['a/4']],
  ]);
  expect(plan.groups[1]!.edits.map((edit) => formatEdit(edit))).toEqual([
    'spec.template.spec.domain.devices.disks[name=root].cache: writeback -> none',
  ]);
  expect(plan.unchanged).toEqual(['a/5']);
  expect(plan.skipped).toEqual([
    { message: 'it has no spec.template.spec.domain.devices.disks[name=root]', vms: ['a/6'] },
    { message: 'its template says it', vms: ['a/7'] },
  ]);
});

describe('what a change needs', () => {
  const before = { spec: { runStrategy: 'Always', template: { spec: { domain: { cpu: { sockets: 1 } } } } } };
  const withSpec = (spec: object, metadata = {}) => ({
    spec: { runStrategy: 'Always', template: { metadata, spec: { ...before.spec.template.spec, ...spec } } },
  });
  const vmi = { migratable: true, cpu: { sockets: 1, current: 1, maxSockets: 4 }, memory: {} } as never;
  const need = (after: object, rest: Partial<NeedInput> = {}): string =>
    changeNeed({ before, after, vmi, waitsForRestart: false, strategy: 'LiveUpdate', ...rest } as NeedInput);

  test.each([
    ['a label of the VM', { ...before, metadata: { labels: { tier: 'gold' } } }, {}, 'Nothing'],
    ['a label of its VMI', withSpec({}, { labels: { tier: 'gold' } }), {}, 'Start'],
    ['a CPU model', withSpec({ domain: { cpu: { sockets: 1, model: 'host-model' } } }), {}, 'Restart'],
    ['a CPU model of a VM that does not run', withSpec({ hostname: 'db' }), { vmi: undefined }, 'Start'],
    ['sockets', withSpec({ domain: { cpu: { sockets: 2 } } }), {}, 'Live'],
    ['sockets, while it waits', withSpec({ domain: { cpu: { sockets: 2 } } }), { waitsForRestart: true }, 'Restart'],
    ['more sockets than there is room for', withSpec({ domain: { cpu: { sockets: 5 } } }), {}, 'Restart'],
    [
      'sockets of a cluster that stages',
      withSpec({ domain: { cpu: { sockets: 2 } } }),
      { strategy: 'Stage' },
      'Restart',
    ],
  ] as const)('%s', (_, after, rest, expected) => {
    expect(need(after, rest as Partial<NeedInput>)).toBe(expected);
  });
});

test.each([
  ['VirtualMachinePool', 'its template sets it: change the template of VirtualMachinePool web'],
  ['VirtualMachineReplicaSet', 'its template sets it: change the template of VirtualMachineReplicaSet web'],
  ['VirtualMachinePool.pool.kubevirt.io', 'its template sets it: change the template of VirtualMachinePool web'],
  ['Backup', null],
])('VMs of a %s', (kind, why) => {
  expect(whyTemplated({ kind, name: 'web', uid: 'u' })).toBe(why);
});

import { expect, test } from 'vitest';
import { VirtualMachines } from '../../../api/resources.ts';
import type { PoolDrift } from '../../../clients/drift/read.ts';
import { aFleet, namesUpTo, until } from '../../integration/fleet.ts';
import { drover as run, nowhere, type Outcome } from '../drover.ts';

const fleet = aFleet();
const drover = (...args: string[]): Promise<Outcome> => run(args, { ...nowhere, ...fleet().stack.env });

test('`drover drift` names the fields that a person has changed, by VM, and nothing of other pools', async () => {
  const namespace = await fleet().namespace();
  for (const name of ['web', 'db']) await fleet().createPool(namespace, name, { replicas: 2 });
  for (const name of ['web', 'db']) await fleet().settled(namespace, name, namesUpTo(name, 2));
  const same = 'all VMs that can be compared are as their templates make them\n';
  expect(await drover('drift', 'pool', 'web', '-n', namespace)).toMatchObject({ code: 0, stdout: same, stderr: '' });

  const memory = { spec: { template: { spec: { domain: { memory: { guest: '128Mi' } } } } } };
  await fleet().kube.patch(VirtualMachines, { namespace, name: 'web-2' }, 'merge', memory);
  await until(async () => expect((await fleet().pool(namespace, 'web'))?.status).toMatchObject({ driftedReplicas: 1 }));
  const all = await drover('drift', '-n', namespace);
  expect(all).toMatchObject({ code: 0, stderr: '' });
  expect(all.stdout).toContain(`pool db\n${same}`);
  expect(all.stdout).toMatch(
    /pool web\nVM +REVISION +FIELD +WANTED +ACTUAL +BEING SET RIGHT\nweb-2 .*memory\.guest +64Mi +128Mi +False\n/,
  );
  const { stdout } = await drover('drift', 'pool/web', '-n', namespace, '-o', 'json');
  expect((JSON.parse(stdout) as PoolDrift).vms.map(({ vm }) => vm)).toEqual(['web-2']);

  const nothing = `No resources found in empty namespace.\n`;
  expect(await drover('drift', '-n', 'empty')).toMatchObject({ code: 0, stdout: '', stderr: nothing });
  expect(await drover('drift', 'pool', 'nope', '-n', namespace)).toMatchObject({
    code: 1,
    stdout: '',
    stderr: 'error: virtualmachinepools.drover.dev "nope" not found\n',
  });
});

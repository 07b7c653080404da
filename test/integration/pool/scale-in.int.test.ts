import { describe, expect, test } from 'vitest';
import { PROTECT_ANNOTATION } from '../../../api/names.ts';
import type { Condition } from '../../../api/pool/pool.ts';
import { VirtualMachines } from '../../../api/resources.ts';
import { drover as run, nowhere, type Outcome } from '../../clients/drover.ts';
import { aFleet, haltedTemplate, namesUpTo, until } from '../fleet.ts';

const fleet = aFleet();

const drover = (...args: string[]): Promise<Outcome> => run(args, { ...nowhere, ...fleet().stack.env });
const VM = 'virtualmachine.kubevirt.io';

const blocked = async (namespace: string): Promise<Condition | undefined> =>
  (await fleet().pool(namespace, 'web'))?.status?.conditions?.find(({ type }) => type === 'ScaleInBlocked');

describe('protected VMs', () => {
  test('stay until people let them go, and the pool says that it cannot shrink', async () => {
    const namespace = await fleet().namespace();
    await fleet().createPool(namespace, 'web', { replicas: 3 });
    await fleet().settled(namespace, 'web', namesUpTo('web', 3));
    await fleet().kube.create(VirtualMachines, { metadata: { namespace, name: 'db' }, spec: haltedTemplate.spec });
    const protection = (...args: string[]): Promise<Outcome> => drover(...args, '-n', namespace);
    expect(await protection('protect', 'web-1', 'db', 'web-9')).toMatchObject({
      code: 1,
      stdout: '',
      stderr: "error: nothing is changed: vm db is not a pool's; there is no vm web-9\n",
    });
    const annotations = async (name: string) =>
      (await fleet().kube.get(VirtualMachines, { namespace, name })).metadata.annotations?.[PROTECT_ANNOTATION];
    expect(await protection('protect', 'web-1', '--dry-run')).toMatchObject({
      stdout: `${VM}/web-1 protected (server dry run)\n`,
    });
    expect(await annotations('web-1')).toBeUndefined();
    expect(await protection('protect', 'vm/web-1', 'vm/web-3')).toMatchObject({
      code: 0,
      stdout: `${VM}/web-1 protected\n${VM}/web-3 protected\n`,
    });
    await fleet().patchPool(namespace, 'web', { replicas: 1 });
    await fleet().settled(namespace, 'web', ['web-1', 'web-3']);
    await until(async () =>
      expect(await blocked(namespace)).toMatchObject({
        status: 'True',
        reason: 'Protected',
        message: '1 VM stays that is more than the 1 wanted: web-1, web-3 are protected from scale-in',
      }),
    );
    expect((await drover('status', 'pool', 'web', '-n', namespace)).stdout).toContain(
      'ScaleInBlocked: Protected: 1 VM',
    );

    expect(await protection('unprotect', 'web-3')).toMatchObject({ code: 0, stdout: `${VM}/web-3 unprotected\n` });
    await fleet().settled(namespace, 'web', ['web-1']);
    await until(async () => expect(await blocked(namespace)).toBeUndefined());
    // The pool's own end takes it along.
    await fleet().patchPool(namespace, 'web', { replicas: 0 });
    await until(async () => expect(await blocked(namespace)).toBeDefined());
    expect(await annotations('web-1')).toBe('true');
    expect((await drover('delete', 'pool', 'web', '-n', namespace)).code).toBe(0);
    expect(await fleet().vmNames(namespace, 'web')).toEqual([]);
  });
});

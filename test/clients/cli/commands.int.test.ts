import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, expect, test } from 'vitest';
import { REQUESTED_BY_ANNOTATION } from '../../../api/labels-and-annotations.ts';
import type { KubeObject } from '../../../api/objects.ts';
import type { VmTemplate } from '../../../api/pool/pool.ts';
import { requesterAnnotation, requesterOf } from '../../../api/requested-by.ts';
import { Events, PersistentVolumeClaims, VirtualMachinePools, VirtualMachines } from '../../../api/resources.ts';
import { keptDiskMetadata, keptDiskOf } from '../../../decisions/template/kept-disk.ts';
import { revisionOf } from '../../../decisions/template/revision.ts';
import { poolIdOf, type PoolProgress } from '../../../workflows/lib/messages.ts';
import { needs } from '../../cluster/given/needs.ts';
import { aFleet, haltedTemplate, namesUpTo, runningTemplate, until } from '../../integration/fleet.ts';
import { follow, nowhere, outcomeOf, start, type Outcome } from '../drover.ts';
import { droverHere as run } from '../in-process.ts';

const fleet = aFleet();

const env = (): NodeJS.ProcessEnv => ({ ...nowhere, ...fleet().stack.env });
const drover = (...args: string[]): Promise<Outcome> => run(args, env());
/** Runs a command that must succeed, and returns the lines that it printed. */
async function lines(...args: string[]): Promise<string[]> {
  const outcome = await drover(...args);
  expect(outcome).toMatchObject({ code: 0 });
  return outcome.stdout.split('\n').filter((line) => line !== '');
}

const manifest = (name: string, spec: object = {}): string =>
  JSON.stringify({
    apiVersion: 'drover.dev/v1alpha1',
    kind: 'VirtualMachinePool',
    metadata: { name },
    spec: { replicas: 2, template: haltedTemplate, ...spec },
  });
const applied = (namespace: string, text: string, ...flags: string[]): Promise<Outcome> =>
  run(['apply', '-n', namespace, '-f', '-', ...flags], env(), text);
const WEB = 'virtualmachinepool.drover.dev/web';

function neverReadyTemplate(): VmTemplate {
  const template = structuredClone(runningTemplate);
  const vmi = template.spec.template as { metadata: { annotations: object }; spec: { domain: object } };
  Object.assign(vmi.metadata.annotations, { 'sim.drover.dev/never-ready': 'true' });
  Object.assign(vmi.spec.domain, { cpu: { cores: 2 } });
  return template;
}

describe('apply', () => {
  test('with --dry-run asks the server and changes nothing', async () => {
    const namespace = await fleet().namespace();
    expect(await applied(namespace, manifest('web'), '--dry-run')).toMatchObject({
      code: 0,
      stdout: `${WEB} created (server dry run)\n`,
    });
    expect(await applied(namespace, manifest('web'), '--dry-run=client')).toMatchObject({
      code: 0,
      stdout: `${WEB} would be applied (dry run)\n`,
    });
    expect(await fleet().pool(namespace, 'web')).toBeUndefined();
  });

  test('with --wait returns when the VMs run the template, or cannot without a user', async () => {
    const namespace = await fleet().namespace();
    const made = await applied(namespace, manifest('web', { template: runningTemplate }), '--wait', '--timeout', '2m');
    expect(made).toMatchObject({ code: 0, stderr: '' });
    expect(made.stdout).toMatch(
      /^virtualmachinepool\.drover\.dev\/web created\n(pool web: .*\n)*pool web matches its spec\n$/,
    );
    expect((await fleet().pool(namespace, 'web'))!.status).toMatchObject({ readyReplicas: 2, updatedReplicas: 2 });
    const bad = neverReadyTemplate();
    // On KubeVirt a VMI that is never ready is so for a moment.
    const rollout = { progressDeadlineSeconds: 2, minReadySeconds: 1 };
    const failed = await applied(namespace, manifest('web', { template: bad, rollout }), '--wait', '--timeout', '2m');
    expect(failed.code).toBe(1);
    expect(failed.stderr).toMatch(
      /error: pool web: the rollout of this template has failed, and was stopped, by drover: /,
    );
    const late = await applied(
      namespace,
      manifest('db', { template: bad, rollout: { minReadySeconds: 60 } }),
      '--wait',
      '--timeout',
      '3s',
    );
    expect(late.code).toBe(1);
    expect(late.stderr).toMatch(/error: pool db is still \w+ after 3s: .*; drover continues with it\n$/);
    expect(await applied(namespace, manifest('db'), '--timeout', '3s')).toMatchObject({ code: 2 });
    expect(await applied(namespace, manifest('db'), '--wait', '--dry-run')).toMatchObject({ code: 2 });
  });

  test('with --wait ends at Ctrl-C, and drover continues with what was applied', async () => {
    const namespace = await fleet().namespace();
    const child = start(['apply', '-n', namespace, '-f', '-', '--wait'], env());
    child.stdin!.end(manifest('web', { template: neverReadyTemplate() }));
    const untilShown = follow(child.stdout!);
    const outcome = outcomeOf(child);
    await untilShown('created\npool web: ');
    child.kill('SIGINT');
    expect(await outcome).toMatchObject({ code: 130, stderr: '' });
    await until(async () => expect((await fleet().pool(namespace, 'web'))?.status?.replicas).toBe(2));
  });

  test('writes nothing if one of many manifests is wrong, whether drover finds it or the server', async () => {
    const namespace = await fleet().namespace();
    const typo = await applied(
      namespace,
      `${manifest('web')}\n---\n${manifest('db', { replicas: undefined, replica: 3 })}`,
    );
    expect(typo).toMatchObject({ code: 1, stdout: '' });
    expect(typo.stderr).toMatch(/^error: standard input:3 \(document 2\): spec\.replica: .*did you mean replicas\?\n$/);
    const elsewhere = JSON.stringify({
      ...(JSON.parse(manifest('db')) as object),
      metadata: { name: 'db', namespace: 'nowhere' },
    });
    const refused = await run(
      ['apply', '-f', '-'],
      { ...env(), KUBECONFIG: inNamespace(namespace) },
      `${manifest('web')}\n---\n${elsewhere}`,
    );
    expect(refused).toMatchObject({
      code: 1,
      stdout: '',
      stderr: 'error: standard input:3: namespaces "nowhere" not found\n',
    });
    expect(await fleet().kube.list(VirtualMachinePools, { namespace })).toMatchObject({ items: [] });
  });

  test('refuses a template that KubeVirt would not accept, before anything is written', async () => {
    const namespace = await fleet().namespace();
    // KubeVirt's own definitions and the stack's are both closed here.
    const template = { spec: { runStrategy: 'Halted', template: { spce: {}, spec: { domain: { devices: {} } } } } };
    expect(await applied(namespace, manifest('web', { template }))).toMatchObject({
      stderr: expect.stringMatching(
        /^error: standard input:1: no VM can be created from spec\.template of pool web: .*spce.*\n$/,
      ) as string,
      code: 1,
      stdout: '',
    });
    expect(await fleet().pool(namespace, 'web')).toBeUndefined();
    expect(await applied(namespace, manifest('web', { template }), '--no-vm-check')).toMatchObject({ code: 0 });
  });

  test("reports at once what KubeVirt's admission refuses", async () => {
    const namespace = await fleet().namespace();
    const template = structuredClone(haltedTemplate);
    const vmi = template.spec.template as { spec: { domain: object } };
    Object.assign(vmi.spec.domain, { machine: { type: 'abacus' } });
    const refused = await applied(namespace, manifest('web', { template }));
    expect(refused).toMatchObject({
      stderr: expect.stringMatching(
        /^error: standard input:1: no VM can be created from spec\.template of pool web: .*machine\.type is not supported: abacus/,
      ) as string,
      code: 1,
      stdout: '',
    });
    expect(await fleet().pool(namespace, 'web')).toBeUndefined();
  });

  test('reports with --dry-run and `diff` what a change would do to VMs', async () => {
    const namespace = await fleet().namespace();
    await applied(namespace, manifest('web'));
    await fleet().settled(namespace, 'web', namesUpTo('web', 2));
    const changed = manifest('web', { replicas: 5 });
    expect((await applied(namespace, changed, '--dry-run')).stderr).toBe('pool web: 3 VMs would be added, 2 to 5\n');
    const { stdout } = await run(['diff', '-n', namespace, '-f', '-'], env(), changed);
    expect(stdout).toContain('-replicas: 2\n+replicas: 5\n');
    expect(stdout).toContain('pool web: 3 VMs would be added, 2 to 5\n');
    const codeOf = async (text: string, ...flags: string[]): Promise<number | null> =>
      (await run(['diff', '-n', namespace, '-f', '-', ...flags], env(), text)).code;
    expect(await codeOf(changed, '--exit-code')).toBe(1);
    expect(await codeOf(manifest('web'), '--exit-code')).toBe(0);
    expect(await codeOf(manifest('web', { replicas: -1 }), '--exit-code')).toBe(2);
    expect((await fleet().pool(namespace, 'web'))?.spec.replicas).toBe(2);
  });

  test('reports who has scaled a pool, leaves the number of a manifest without one, and sets it if forced', async () => {
    const namespace = await fleet().namespace();
    await applied(namespace, manifest('web'));
    await fleet().kube.patch(
      VirtualMachinePools,
      { namespace, name: 'web' },
      'merge',
      { spec: { replicas: 4 } },
      { subresource: 'scale', fieldManager: 'kubectl' },
    );
    const conflict = await applied(namespace, manifest('web', { paused: true }));
    expect(conflict).toMatchObject({ code: 1, stdout: '' });
    const sentence =
      'error: standard input:1: pool web: spec.replicas set by kubectl: leave this out of the manifest, or take it over ' +
      'with --force-conflicts (`drover diff --force-conflicts` shows what that would do)\n';
    expect(conflict.stderr).toBe(sentence);
    const diff = (text: string, ...flags: string[]): Promise<Outcome> =>
      run(['diff', '-n', namespace, '-f', '-', ...flags], env(), text);
    const text = manifest('web', { paused: true });
    expect(await diff(text)).toMatchObject({ code: 1, stdout: '', stderr: sentence });
    expect(await diff(text, '--exit-code')).toMatchObject({ code: 2 });
    expect(await diff(text, '--force-conflicts')).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('pool web: 2 VMs would be removed, 4 to 2\n') as string,
    });
    const { stderr } = await applied(namespace, manifest('web', { paused: true, replicas: undefined }));
    expect(stderr).toContain('pool web: spec.paused is true: no VM is updated until it is false\n');
    expect((await fleet().pool(namespace, 'web'))!.spec).toMatchObject({ replicas: 4, paused: true });
    await applied(namespace, manifest('web'), '--force-conflicts');
    expect((await fleet().pool(namespace, 'web'))!.spec.replicas).toBe(2);
  });

  test('reports what it made, changed, and left, and names the requester only for disruptions', async () => {
    const namespace = await fleet().namespace();
    const by = (name: string, text: string, ...flags: string[]): Promise<Outcome> =>
      run(['apply', '-n', namespace, '-f', '-', ...flags], { ...env(), DROVER_REQUESTED_BY: name }, text);
    /** Returns who asked for the pool's current template. */
    const requestedBy = async (): Promise<string | undefined> => {
      const { metadata, spec } = (await fleet().pool(namespace, 'web'))!;
      return requesterOf(metadata.annotations?.[REQUESTED_BY_ANNOTATION], revisionOf(spec.template));
    };
    const other = manifest('web', { template: runningTemplate });

    expect(await by('ann', manifest('web'))).toMatchObject({ code: 0, stdout: `${WEB} created\n`, stderr: '' });
    expect(await requestedBy()).toBe('ann');
    await fleet().settled(namespace, 'web', namesUpTo('web', 2));
    expect(await by('ben', manifest('web'), '--dry-run')).toMatchObject({
      stdout: `${WEB} unchanged (server dry run)\n`,
      stderr: '',
    });
    expect(await by('ben', manifest('web'))).toMatchObject({ code: 0, stdout: `${WEB} unchanged\n` });
    expect(await by('ben', manifest('web', { replicas: 3 }))).toMatchObject({ code: 0, stdout: `${WEB} configured\n` });
    await fleet().settled(namespace, 'web', namesUpTo('web', 3));
    expect(await requestedBy()).toBe('ann');
    expect(await by('ben', other, '--dry-run')).toMatchObject({
      stdout: `${WEB} configured (server dry run)\n`,
      stderr: expect.stringMatching(/^pool web: drover.dev\/requested-by would be ben$/m),
    });
    expect(await requestedBy()).toBe('ann');
    expect(await by('ben', other)).toMatchObject({ stdout: `${WEB} configured\n`, stderr: '' });
    expect(await requestedBy()).toBe('ben');

    // Another client has stamped someone else: a later apply takes the field over without a conflict.
    const annotations = { [REQUESTED_BY_ANNOTATION]: requesterAnnotation('cleo', revisionOf(runningTemplate)) };
    await fleet().kube.patch(VirtualMachinePools, { namespace, name: 'web' }, 'merge', { metadata: { annotations } });
    expect(await by('dan', other)).toMatchObject({ stdout: `${WEB} unchanged\n` });
    expect(await requestedBy()).toBe('cleo');
    expect(await by('dan', manifest('web'))).toMatchObject({ stdout: `${WEB} configured\n`, stderr: '' });
    expect(await requestedBy()).toBe('dan');
  });

  test('reports what it converted and that no worker would act on it, separately from what it did; names the user that the API server knows', async () => {
    const namespace = await fleet().namespace();
    const proposed = JSON.stringify({ ...(JSON.parse(manifest('web')) as object), apiVersion: 'kubevirt.io/v1' });
    const outcome = await applied(namespace, proposed, '--cluster', 'empty');
    expect(outcome).toMatchObject({ code: 0, stdout: `${WEB} created\n` });
    expect(outcome.stderr).toMatch(/^standard input:1: kubevirt\.io\/v1 is read as drover\.dev\/v1alpha1/m);
    expect(outcome.stderr).toMatch(/^no drover worker polls the task queue drover\/empty: /m);
    const { metadata, spec } = (await fleet().pool(namespace, 'web'))!;
    expect(requesterOf(metadata.annotations?.[REQUESTED_BY_ANNOTATION], revisionOf(spec.template))).toBe('admin');
  });
});

test('a command exits silently when stdout is closed', async () => {
  const child = start(['status', '-A', '--watch'], env());
  const complaints = text(child.stderr!);
  const ended = once(child, 'exit');
  await once(child.stdout!, 'data');
  child.stdout!.destroy();
  await fleet().createPool(await fleet().namespace(), 'unread');
  expect(await ended).toEqual([141, null]);
  expect(await complaints).toBe('');
});

test('Events on a pool are as kubectl sorts and dates them', async () => {
  const namespace = await fleet().namespace();
  await fleet().createPool(namespace, 'web', { replicas: 2, template: runningTemplate });
  await fleet().settled(namespace, 'web', namesUpTo('web', 2));
  const events = async () =>
    (await fleet().kube.list<KubeObject & { deprecatedLastTimestamp?: string | null }>(Events, { namespace })).items;
  await until(async () => expect(await events()).not.toEqual([]));
  expect((await events()).filter(({ deprecatedLastTimestamp }) => !deprecatedLastTimestamp)).toEqual([]);
});

test('a pool without a workflow has a status', async () => {
  const namespace = await fleet().namespace();
  await fleet().createPool(namespace, 'web');
  const { code, stdout } = await drover('status', 'pool', 'web', '-n', namespace, '--cluster', 'empty');
  expect(code).toBe(0);
  expect(stdout).toMatch(/in progress: not known, no workflow manages it (yet|now; .*)$/m);
});

test('shows a pool whose workflow was terminated as managed again, by a command at once; a cancellation changes nothing', async () => {
  const namespace = await fleet().namespace();
  await fleet().createPool(namespace, 'web');
  await fleet().settled(namespace, 'web', ['web-1']);
  const handle = fleet().temporal.client.workflow.getHandle(poolIdOf({ cluster: 'default', namespace, name: 'web' }));
  await handle.cancel();
  await until(async () =>
    expect((await handle.query<PoolProgress>('progress')).recentErrors).toMatchObject([{ reason: 'NotCancelled' }]),
  );
  expect((await handle.describe()).status.name).toBe('RUNNING');
  await handle.terminate();
  const pause = ['rollout', 'pause', 'pool', 'web', '-n', namespace];
  expect(await drover(...pause)).toMatchObject({ code: 0, stderr: '' });
  await handle.terminate();
  await until(async () => expect((await handle.describe()).status.name).toBe('RUNNING'));
  expect((await fleet().pool(namespace, 'web'))!.status?.rollout?.paused).toBeDefined();
});

describe('status', () => {
  test('is a snapshot, and with --watch follows each change; off a terminal, without control codes', async () => {
    const namespace = await fleet().namespace();
    await fleet().createPool(namespace, 'web', { replicas: 2 });
    await fleet().settled(namespace, 'web', namesUpTo('web', 2));
    const once = await drover('status', '-n', namespace);
    expect(once).toMatchObject({ code: 0, stderr: '' });
    expect(once.stdout).toMatch(
      new RegExp(
        `^\\d{4}-\\S+Z\n${namespace}/web {2}█+ 0/0 ready, 2 stopped, 2 total, 2 updated\n {2}VMs: Stopped 2\n\n$`,
      ),
    );
    await fleet().createPool(namespace, 'db', { replicas: 0 });
    await fleet().kube.patch(VirtualMachinePools, { namespace, name: 'db' }, 'merge', {
      metadata: { labels: { tier: 'db' } },
    });
    const chosen = await drover('status', '-n', namespace, '-l', 'tier!=db', '-o', 'json');
    expect(JSON.parse(chosen.stdout)).toMatchObject({
      items: [{ name: 'web', desired: 2, current: 2, ready: 0, states: { Stopped: 2 }, inProgress: { doing: [] } }],
    });
    expect((await drover('status', '-n', namespace, '-l', 'tier=db')).stdout).toMatch(/db .*0\/0 ready/);

    const child = start(['status', 'pool', 'web', '-n', namespace, '--watch'], env());
    const untilShown = follow(child.stdout!);
    const outcome = outcomeOf(child);
    await untilShown('0/0 ready, 2 stopped');
    await fleet().patchPool(namespace, 'web', { replicas: 5 });
    await untilShown('0/0 ready, 5 stopped, 5 total, 5 updated');
    child.kill('SIGINT');
    const { stdout, ...end } = await outcome;
    expect(end).toMatchObject({ code: 130, stderr: '' });
    expect(stdout).not.toContain('\u001B');
  });

  test('fails for a missing pool', async () => {
    expect(await drover('status', 'pool', 'nope', '--watch')).toMatchObject({
      code: 1,
      stderr: 'error: virtualmachinepools.drover.dev "nope" not found\n',
    });
  });
});

test('apply reports that the pool is being deleted, and what was applied with it', async () => {
  const namespace = await fleet().namespace();
  const pool = await fleet().createPool(namespace, 'web', { replicas: 0 });
  await fleet().settled(namespace, 'web', []);
  const finalizers = [...(pool.metadata.finalizers ?? []), 'example.com/held'];
  const key = { namespace, name: 'web' };
  await fleet().kube.patch(VirtualMachinePools, key, 'merge', { metadata: { finalizers } });
  await fleet().kube.delete(VirtualMachinePools, key);
  expect(await applied(namespace, manifest('web'), '--force-conflicts')).toMatchObject({
    code: 0,
    stderr: 'pool web is being deleted, and what was applied goes with it: apply it again when it is gone\n',
  });
  await fleet().kube.patch(VirtualMachinePools, key, 'merge', { metadata: { finalizers: null } });
  await until(async () => expect(await fleet().pool(namespace, 'web')).toBeUndefined());
});

describe('the embedded stack', () => {
  test('is used if nothing else is given, which is reported', async () => {
    needs('an embedded stack');
    const found = await run(['status', '-A'], own());
    expect(found).toMatchObject({ code: 0 });
    expect(found.stderr).toContain(`using the embedded stack at ${fleet().stack.state}\n`);
  });

  test('is used without a note if it is named, whatever the environment says', async () => {
    needs('an embedded stack');
    const elsewhere = {
      ...nowhere,
      KUBECONFIG: '/nonexistent',
      TEMPORAL_ADDRESS: '127.0.0.1:1',
      TEMPORAL_API_KEY: 'of-another',
    };
    expect(await run(['setup', '--state', fleet().stack.state], elsewhere)).toMatchObject({ code: 0, stderr: '' });
  });

  test('is not used if a kubeconfig is given', async () => {
    expect(await run(['status'], { ...own(), KUBECONFIG: '/nonexistent' })).toMatchObject({ code: 1 });
    const alone = await run(['status', '-A'], { ...nowhere, KUBECONFIG: fleet().stack.kubeconfig });
    expect(alone).toMatchObject({ code: 0, stderr: expect.not.stringContaining('embedded') as string });
  });
});

/** A user's environment that names only the stack's folder. */
const own = (): NodeJS.ProcessEnv => ({ ...nowhere, DROVER_STATE: fleet().stack.state });

/** Writes a copy of the stack's kubeconfig with another namespace in its context. */
function inNamespace(namespace: string): string {
  const file = join(fleet().stack.state, `kubeconfig-${namespace}`);
  writeFileSync(
    file,
    readFileSync(fleet().stack.kubeconfig, 'utf8').replace('namespace: default', `namespace: ${namespace}`),
  );
  return file;
}

const aClaim = (namespace: string, number: number, poolUid: string): Promise<unknown> => {
  const mark = keptDiskMetadata({
    pool: 'web',
    poolUid,
    number,
    disk: 'data',
    volume: null,
    revision: '0123456789',
    template: null,
    firmware: {},
    keptBy: 'scale-in',
    keptAt: `2026-01-0${number}T00:00:00Z`,
  });
  const spec = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } };
  return fleet().kube.create(PersistentVolumeClaims, {
    metadata: { namespace, name: `data-${number}`, ...mark },
    spec,
  });
};
const claims = async (namespace: string): Promise<string[]> =>
  (await fleet().kube.list(PersistentVolumeClaims, { namespace })).items
    .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
    .map(({ metadata: { name } }) => name);

describe('the disks that VMs have left', () => {
  test('are given to another pool of the name, and deleted; those in use are not', async () => {
    const namespace = await fleet().namespace();
    await applied(namespace, manifest('web', { replicas: 1 }));
    await fleet().settled(namespace, 'web', ['web-1']);
    const { uid } = (await fleet().pool(namespace, 'web'))!.metadata;
    const spec = {
      domain: { devices: { disks: [{ name: 'data', disk: { bus: 'virtio' } }] } },
      volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'data-1' } }],
    };
    await fleet().kube.patch(VirtualMachines, { namespace, name: 'web-1' }, 'merge', { spec: { template: { spec } } });
    await aClaim(namespace, 1, uid);
    await aClaim(namespace, 2, uid);
    await aClaim(namespace, 3, 'of-an-earlier-pool');
    await aClaim(namespace, 4, 'of-an-earlier-pool');
    const in_ = ['-n', namespace];
    expect(await drover('disks', 'prune', '--all', '--dry-run=client', ...in_)).toMatchObject({
      code: 0,
      stdout: [2, 3, 4].map((number) => `persistentvolumeclaim/data-${number} deleted (dry run)\n`).join(''),
    });
    expect(await lines('disks', 'prune', '--pool', 'db', ...in_)).toEqual([]);

    expect(await drover('disks', 'prune', ...in_)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('which kept disks?'),
    });
    expect(await drover('disks', 'prune', 'data-1', ...in_)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('data-1: no kept disk of namespace'),
    });
    expect(await lines('disks', 'prune', '--orphaned', '--dry-run', ...in_)).toEqual([
      'persistentvolumeclaim/data-3 deleted (server dry run)',
      'persistentvolumeclaim/data-4 deleted (server dry run)',
    ]);
    expect(await claims(namespace)).toHaveLength(4);
    expect(await lines('disks', 'adopt', '--pool', 'web', 'data-3', ...in_)).toEqual([
      'persistentvolumeclaim/data-3 is kept for pool web',
    ]);
    // A pod that still mounts a claim keeps it, and it is no kept disk any more.
    const held = { namespace, name: 'data-4' };
    await fleet().kube.patch(PersistentVolumeClaims, held, 'merge', { metadata: { finalizers: ['drover.dev/test'] } });
    expect(await lines('disks', 'prune', '--orphaned', ...in_)).toEqual(['persistentvolumeclaim/data-4 deleted']);
    expect(await lines('disks', 'prune', '--all', '--dry-run=client', ...in_)).toHaveLength(2);
    await until(async () => expect((await fleet().pool(namespace, 'web'))!.status).toMatchObject({ keptDisks: 2 }));
    // The worker has removed the mark from the disk that its VM uses: it is no longer a kept disk.
    await until(async () =>
      expect(
        keptDiskOf((await fleet().kube.get(PersistentVolumeClaims, { namespace, name: 'data-1' })).metadata),
      ).toBeNull(),
    );
    await fleet().kube.delete(VirtualMachinePools, { namespace, name: 'web' });
    await until(async () => expect(await fleet().pool(namespace, 'web')).toBeUndefined());
    expect(await lines('disks', 'prune', '--all', ...in_)).toEqual(
      [2, 3].map((number) => `persistentvolumeclaim/data-${number} deleted`),
    );
    expect(await claims(namespace)).toEqual(['data-1']);
    await fleet().kube.patch(PersistentVolumeClaims, held, 'merge', { metadata: { finalizers: null } });
  });
});

import { beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import type { PoolSpec } from '../../../api/pool/pool.ts';
import { VirtualMachinePools } from '../../../api/resources.ts';
import type { RolloutView } from '../../../clients/pool/view.ts';
import { changeTemplate } from '../../../clients/rollout/change-template.ts';
import type { Act } from '../../../decisions/history/act.ts';
import { revisionOf } from '../../../decisions/template/revision.ts';
import { aFleet, runningTemplate, until } from '../../integration/fleet.ts';
import { userWith } from '../../integration/operations/operations.ts';
import { TestPool } from '../../integration/rollout/rollouts.ts';
import { follow, nowhere, outcomeOf, start, type Outcome } from '../drover.ts';
import { droverHere as run } from '../in-process.ts';
import { byApproval } from './pools.ts';

const fleet = aFleet();

const env = (): NodeJS.ProcessEnv => ({ ...nowhere, ...fleet().stack.env, DROVER_REQUESTED_BY: 'ada@desk' });
/** Nothing listens there. */
const NO_TEMPORAL = '127.0.0.1:1';
const WEB = 'virtualmachinepool.drover.dev/web';

/** Runs `drover rollout …` in one namespace, as a user who reaches no Temporal. */
const rolloutIn =
  (namespace: string) =>
  (command: string, ...flags: string[]): Promise<Outcome> =>
    run(['rollout', command, 'pool', 'web', '-n', namespace, ...flags], { ...env(), TEMPORAL_ADDRESS: NO_TEMPORAL });

const templateWith = (cores: number, annotations: Record<string, string> = {}): PoolSpec['template'] => {
  const template = structuredClone(runningTemplate);
  const vmi = template.spec.template as {
    metadata: { annotations: object };
    spec: { domain: Record<string, unknown> };
  };
  vmi.spec.domain['cpu'] = { cores };
  Object.assign(vmi.metadata.annotations, annotations);
  return template;
};

/** Creates a pool in a namespace of its own; resolves when all its VMs run the template. */
async function aPool(spec: Partial<PoolSpec> = {}): Promise<string> {
  const namespace = await fleet().namespace();
  const template = templateWith(1);
  await fleet().createPool(namespace, 'web', { replicas: 3, template, ...spec });
  await untilAllRun(namespace, template);
  return namespace;
}

/** Resolves when all VMs of the pool run this template. */
const untilAllRun = (namespace: string, template: PoolSpec['template'], replicas = 3): Promise<void> =>
  until(async () =>
    expect((await fleet().pool(namespace, 'web'))!.status).toMatchObject({
      readyReplicas: replicas,
      updatedReplicas: replicas,
      currentRevision: revisionOf(template),
    }),
  );

const untilItWaitsForApproval = (namespace: string): Promise<void> =>
  until(async () =>
    expect((await fleet().condition(namespace, 'web', 'Progressing'))?.reason).toBe('WaitingForApproval'),
  );

const template = async (namespace: string): Promise<PoolSpec['template']> =>
  (await fleet().pool(namespace, 'web'))!.spec.template;

/** Runs `drover apply` as another user. */
const apply = (namespace: string, spec: Partial<PoolSpec>, ...flags: string[]): Promise<Outcome> => {
  const manifest = {
    apiVersion: 'drover.dev/v1alpha1',
    kind: 'VirtualMachinePool',
    metadata: { name: 'web', namespace },
    spec,
  };
  return run(['apply', '-f', '-', ...flags], { ...env(), DROVER_REQUESTED_BY: 'bob@desk' }, JSON.stringify(manifest));
};

describe('status', () => {
  test('with --watch follows a rollout until it is complete', async () => {
    const namespace = await aPool();
    await fleet().patchPool(namespace, 'web', { template: templateWith(2) });
    const followed = await rolloutIn(namespace)('status', '--watch');
    expect(followed).toMatchObject({ code: 0, stderr: '' });
    expect(followed.stdout).toMatch(/3\/3 updated, 3 ready: Complete\n {2}all VMs have revision 2 \([0-9a-f]{10}\)/);
    expect(followed.stdout).not.toContain('\u001B');
    const { stdout } = await rolloutIn(namespace)('status', '-o', 'json');
    expect(JSON.parse(stdout) as RolloutView).toMatchObject({
      pool: 'web',
      phase: 'Complete',
      end: 'Complete',
      target: { number: 2, hash: revisionOf(templateWith(2)) },
      updatedReplicas: 3,
    });
  });

  test('fails if a rollout fails, and says why', async () => {
    const namespace = await aPool({ rollout: { progressDeadlineSeconds: 2 } });
    await fleet().patchPool(namespace, 'web', { template: templateWith(2, { 'sim.drover.dev/never-ready': 'true' }) });
    const followed = await rolloutIn(namespace)('status', '--watch');
    expect(followed).toMatchObject({ code: 1 });
    expect(followed.stderr).toMatch(
      /^error: pool web: the rollout is Failed, 1 of 3 VMs are updated: [^\n]*web-\d[^\n]*\n$/,
    );
    expect((await run(['status', 'pool', 'web', '-n', namespace], env())).stdout).toMatch(
      /^ {2}web-\d failed \d+s ago$/m,
    );

    // And back, with time enough, to the last revision that all VMs had.
    await fleet().patchPool(namespace, 'web', { rollout: { progressDeadlineSeconds: 60 } });
    expect(await rolloutIn(namespace)('undo')).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^\S+ has the template of revision 1 /) as string,
    });
    expect(await template(namespace)).toEqual(templateWith(1));
    await untilAllRun(namespace, templateWith(1));
  });
});

describe('a pool that its spec pauses', () => {
  let namespace: string;
  beforeAll(async () => {
    namespace = await aPool({ paused: true });
  });

  test('is not resumed by a user, who is told what holds it', async () => {
    expect(await rolloutIn(namespace)('resume')).toMatchObject({
      code: 1,
      stderr: 'error: spec.paused of pool web is true, and holds it: set it to false in its manifest, and apply that\n',
    });
    expect(await rolloutIn(namespace)('pause')).toMatchObject({ code: 0 });
    const { code, stdout, stderr } = await rolloutIn(namespace)('resume');
    expect({ code, stderr }).toMatchObject({ code: 1, stderr: expect.stringContaining('spec.paused') as string });
    expect(stdout).toMatch(/resumed\n(.*\n)* {2}paused by spec\.paused \d+s ago\n/);
  });

  test('is followed no longer than --timeout', async () => {
    await fleet().patchPool(namespace, 'web', { template: templateWith(2) });
    const followed = await rolloutIn(namespace)('status', '--watch', '--timeout', '1s');
    expect(followed).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^error: pool web is still \w+ after 1s, /) as string,
    });
  });

  test('is followed until it goes away', async () => {
    const child = start(['rollout', 'status', 'pool/web', '-n', namespace, '--watch'], env());
    const outcome = outcomeOf(child);
    const untilShown = follow(child.stdout!);
    await untilShown('paused by spec.paused');
    await fleet().kube.delete(VirtualMachinePools, { namespace, name: 'web' });
    expect(await outcome).toMatchObject({ code: 1, stderr: 'error: pool web is gone\n' });
  });
});

const note = (by: string, words: string): string => `${by} requested "rollout promote": ${words}`;

describe('a user', () => {
  test('pauses, resumes, promotes and aborts', async () => {
    const namespace = await aPool({ rollout: byApproval(1, 2) });
    const rollout = rolloutIn(namespace);

    expect(await rollout('pause', '--reason', 'lunch', '--dry-run')).toMatchObject({
      code: 0,
      stdout: `${WEB} paused (server dry run)\n`,
    });
    expect((await fleet().pool(namespace, 'web'))!.status!.rollout?.paused).toBeUndefined();
    const paused = await rollout('pause', '--reason', 'lunch');
    expect(paused).toMatchObject({ code: 0, stderr: '' });
    expect(paused.stdout).toMatch(new RegExp(`^${WEB} paused\n(.*\n)* {2}paused by admin \\d+s ago: lunch\n`));
    expect(await rollout('pause')).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/already paused, by admin/) as string,
    });

    await fleet().patchPool(namespace, 'web', { template: templateWith(2) });
    await until(async () =>
      expect((await fleet().pool(namespace, 'web'))!.status).toMatchObject({
        updateRevision: revisionOf(templateWith(2)),
        updatedReplicas: 0,
      }),
    );
    const resumed = await rollout('resume');
    expect(resumed).toMatchObject({ code: 0, stdout: expect.stringContaining(`${WEB} resumed\n`) as string });
    expect(resumed.stdout).not.toContain('paused by');
    expect(await rollout('resume')).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/is not paused/) as string,
    });

    await untilItWaitsForApproval(namespace);
    expect((await rollout('status')).stdout).toContain('WaitingForApproval');
    expect(await rollout('promote', '--full')).toMatchObject({
      code: 0,
      stdout: expect.stringContaining(`${WEB} promoted past all its steps\n`) as string,
    });
    await untilAllRun(namespace, templateWith(2));
    expect(await rollout('promote')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('nothing to promote') as string,
    });
    expect(await rollout('abort')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('nothing to abort') as string,
    });

    await fleet().patchPool(namespace, 'web', { template: templateWith(3) });
    await untilItWaitsForApproval(namespace);
    expect(await rollout('abort', '--reason', 'too slow')).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^\S+ aborted\n {2}Aborted\n {2}aborted by \S+ \d+s ago: too slow\n/) as string,
    });
    expect(await rollout('status', '--watch')).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/the rollout is Aborted.*admin: too slow/) as string,
    });
    expect((await fleet().pool(namespace, 'web'))!.status).toMatchObject({ updatedReplicas: 1 });
  });

  test('is told that the pool does not exist', async () => {
    const namespace = await fleet().namespace();
    for (const command of ['status', 'undo']) {
      expect(await rolloutIn(namespace)(command)).toMatchObject({
        code: 1,
        stdout: '',
        stderr: 'error: virtualmachinepools.drover.dev "web" not found\n',
      });
    }
  });

  test('is refused a promotion of a step that is passed, and cannot ask in the name of another', async () => {
    const namespace = await aPool({ rollout: byApproval(1, 2) });
    const pool = TestPool.of(fleet(), namespace);
    const rule = { apiGroups: ['drover.dev'], resources: ['virtualmachinepools'] };
    const ann = await userWith(fleet(), namespace, 'ann', [{ ...rule, verbs: ['get', 'patch'] }]);
    const bob = await userWith(fleet(), namespace, 'bob', [{ ...rule, verbs: ['get', 'patch'] }]);
    const eve = await userWith(fleet(), namespace, 'eve', [{ ...rule, verbs: ['get'] }]);
    const revision = await pool.change(templateWith(2));
    await untilItWaitsForApproval(namespace);
    const write = ({ kube }: typeof ann, annotations: Record<string, string | null>): Promise<unknown> =>
      kube.patch(VirtualMachinePools, { namespace, name: 'web' }, 'merge', { metadata: { annotations } });
    const request = (id: string, by: string, what: 'rollout' | 'healing' = 'rollout'): Record<string, string> => ({
      [`drover.dev/${what}-request`]: JSON.stringify({ id, action: 'promote', revision, step: 1 }),
      [`drover.dev/${what}-requested-by`]: by,
    });
    const denied = (user: typeof ann, what = 'rollout'): RegExp =>
      new RegExp(`annotation drover.dev/${what}-requested-by must be ${user.username}, who makes the request`);

    await expect(write(bob, request('bob-1', ann.username))).rejects.toThrow(denied(bob));
    await expect(write(bob, request('bob-1', ann.username, 'healing'))).rejects.toThrow(denied(bob, 'healing'));
    const { 'drover.dev/rollout-requested-by': _, ...nameless } = request('bob-1', '');
    await expect(write(bob, nameless)).rejects.toThrow(denied(bob));
    await expect(write(eve, request('eve-1', eve.username))).rejects.toThrow(/forbidden: User ".*:eve" cannot patch/);
    await write(ann, request('ann-1', ann.username));
    // Nor does anybody give a request that stands there another author, or change it in the name of its own.
    for (const by of [null, 'system:admin'])
      await expect(write(bob, { 'drover.dev/rollout-requested-by': by })).rejects.toThrow(denied(bob));
    const { 'drover.dev/rollout-request': other = '' } = request('ann-2', '');
    await expect(write(bob, { 'drover.dev/rollout-request': other })).rejects.toThrow(denied(bob));
    const handled = (): Promise<unknown> => pool.status().then(({ rollout }) => rollout!.handledRequests);
    const promoted = { id: 'ann-1', by: ann.username, outcome: 'Done' };
    await until(async () => expect(await handled()).toMatchObject([promoted]));
    // All else of the pool is changed as before.
    await write(bob, { example: 'x' });

    await write(bob, request('bob-1', bob.username));
    const refused = 'step 1 is passed already: it is at step 2 of 2';
    await until(async () =>
      expect(await handled()).toMatchObject([promoted, { id: 'bob-1', outcome: 'Refused', message: refused }]),
    );
    await until(async () =>
      expect(await pool.events()).toEqual(
        expect.arrayContaining([
          { reason: 'RequestDone', note: note(ann.username, 'passed step 1 of 2') },
          { reason: 'RequestRefused', note: note(bob.username, refused) },
        ]),
      ),
    );
    await write(bob, { 'drover.dev/rollout-request': null, 'drover.dev/rollout-requested-by': null });
    await Promise.all([ann, bob, eve].map(({ kube }) => kube.close()));
  });
});

describe('revisions', () => {
  test('are listed, shown and compared', async () => {
    const namespace = await aPool();
    await fleet().patchPool(namespace, 'web', { template: templateWith(2) });
    await untilAllRun(namespace, templateWith(2));
    await fleet().patchPool(namespace, 'web', { paused: true, template: templateWith(3) });
    const updateRevision = revisionOf(templateWith(3));
    await until(async () => expect((await fleet().pool(namespace, 'web'))!.status).toMatchObject({ updateRevision }));
    const [headers, ...rows] = (await rolloutIn(namespace)('history')).stdout.trimEnd().split('\n');
    expect(headers).toMatch(/^REVISION +HASH +FIRST USED +VMS +VMIS +STATE +REQUESTED BY +CHANGE CAUSE$/);
    expect(rows).toEqual([
      expect.stringMatching(/^1 +[0-9a-f]{10} +\d+s ago +0 +0 +test +<none>$/),
      expect.stringMatching(/^2 +[0-9a-f]{10} +\d+s ago +3 +3 +current +test +<none>$/),
      expect.stringMatching(/^<next> +[0-9a-f]{10} +<unknown> +0 +0 +target +<unknown> +<none>$/),
    ]);
    expect(parse((await rolloutIn(namespace)('history', '--revision', '2')).stdout)).toEqual(templateWith(2));
    const diff = await rolloutIn(namespace)('diff');
    expect(diff.stdout).toMatch(/^--- revision 2 .*\n\+\+\+ the template now, revision [0-9a-f]{10}\n/);
    expect(diff.stdout).toMatch(/^- +cores: 2\n\+ +cores: 3$/m);
    expect(diff.stdout).toMatch(/\n\nRestart: VMIs are restarted\n$/);
    expect((await rolloutIn(namespace)('diff', '--revision', '1', '--to', '2')).stdout).toMatch(
      /^- +cores: 1\n\+ +cores: 2$/m,
    );
  });

  test('come back with an undo, which says who asked, and what holds it', async () => {
    const namespace = await aPool();
    await fleet().patchPool(namespace, 'web', { template: templateWith(2) });
    await untilAllRun(namespace, templateWith(2));
    await fleet().patchPool(namespace, 'web', { paused: true });
    expect(await rolloutIn(namespace)('undo', '--dry-run')).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/ again, which becomes revision 3 \(server dry run\)\n$/) as string,
    });
    expect(await template(namespace)).toEqual(templateWith(2));
    expect(await rolloutIn(namespace)('undo', '--to-revision', '2')).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/unchanged: it already has the template of revision 2 /) as string,
    });
    expect(await rolloutIn(namespace)('undo', '--to-revision', '9')).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/has no revision 9; it has 1 /) as string,
    });
    expect(await rolloutIn(namespace)('undo')).toMatchObject({
      code: 0,
      stdout: `${WEB} has the template of revision 1 (${revisionOf(templateWith(1))}) again, which becomes revision 3\n`,
      stderr: 'pool web is paused by spec.paused: nothing begins until that is false\n',
    });
    expect(await template(namespace)).toEqual(templateWith(1));
    const status = async (): Promise<string> => (await rolloutIn(namespace)('status')).stdout;
    // It is numbered at once, and not when the rollout begins.
    await until(async () => expect(await status()).toMatch(/: Paused\n(.*\n)* {2}revision 3 \(\w+\), from 2 /));
    await fleet().patchPool(namespace, 'web', { paused: false });
    await untilAllRun(namespace, templateWith(1));
    // The reused template counts as the newest revision.
    expect((await rolloutIn(namespace)('history')).stdout).toMatch(
      /^3 .* current +ada@desk +undo to revision 1 \(\w+\)$/m,
    );
  });
});

describe('restart', () => {
  test('restarts every VM, and a manifest without it does not take it back', async () => {
    const namespace = await fleet().namespace();
    const spec = { replicas: 2, template: templateWith(1) };
    expect(await apply(namespace, spec)).toMatchObject({ code: 0 });
    await untilAllRun(namespace, templateWith(1), 2);
    expect(await rolloutIn(namespace)('restart', '--reason', 'leaks', '--dry-run=client')).toMatchObject({
      code: 0,
      stdout: `${WEB} restarted (dry run): 2 VMs, except stopped ones\n`,
    });
    expect(await rolloutIn(namespace)('restart', '--reason', 'leaks')).toMatchObject({
      code: 0,
      stdout: `${WEB} restarted\n`,
      stderr: '',
    });
    const restarted = await template(namespace);
    await untilAllRun(namespace, restarted, 2);
    expect(restarted.spec.template).toMatchObject({
      metadata: { annotations: { 'drover.dev/restarted-at': expect.stringMatching(/^20/) as string } },
    });
    expect((await rolloutIn(namespace)('history')).stdout).toMatch(/^2 .* current +ada@desk +leaks$/m);
    expect(await apply(namespace, spec)).toMatchObject({ code: 0 });
    expect(await template(namespace)).toEqual(restarted);
  });
});

test('an undo heals a pool that is wholly broken, whatever its budget', async () => {
  const namespace = await aPool({ maxUnavailable: 1 });
  // Changed annotations need no restart, and so reach all VMIs at once.
  await fleet().patchPool(namespace, 'web', { template: templateWith(1, { 'sim.drover.dev/never-ready': 'true' }) });
  await until(async () =>
    expect((await fleet().pool(namespace, 'web'))!.status).toMatchObject({ updatedReplicas: 3, readyReplicas: 0 }),
  );
  expect(await rolloutIn(namespace)('undo')).toMatchObject({ code: 0 });
  await untilAllRun(namespace, templateWith(1));
});

test('after an undo a manifest changes and removes what it brought back', async () => {
  const namespace = await fleet().namespace();
  for (const next of [templateWith(1), runningTemplate]) {
    expect(await apply(namespace, { replicas: 1, template: next })).toMatchObject({ code: 0 });
    await untilAllRun(namespace, next, 1);
  }
  expect(await rolloutIn(namespace)('undo')).toMatchObject({ code: 0 });
  expect(await template(namespace)).toEqual(templateWith(1));
  // A worker records the undo: a template that another one replaces before is no revision.
  await untilAllRun(namespace, templateWith(1), 1);
  expect(await apply(namespace, { replicas: 1, template: templateWith(3) })).toMatchObject({ code: 0, stderr: '' });
  expect(await apply(namespace, { replicas: 1, template: runningTemplate })).toMatchObject({
    code: 0,
    stderr: expect.stringMatching(
      /^pool web: this is the template of revision 2 \(\w+\) again, which was undone by .*\n$/,
    ) as string,
  });
  expect(await template(namespace)).toEqual(runningTemplate);
});

test("a template is set despite other changes, and does not overwrite another's", async () => {
  const namespace = await fleet().namespace();
  const seen = await fleet().createPool(namespace, 'web', { replicas: 1, paused: true });
  await fleet().patchPool(namespace, 'web', { replicas: 2 });
  await changeTemplate(fleet().kube, seen, { template: templateWith(1), cause: 'a test' }, 'none');
  expect((await fleet().pool(namespace, 'web'))!).toMatchObject({
    metadata: { annotations: { 'kubernetes.io/change-cause': 'a test' } },
    spec: { replicas: 2, template: templateWith(1) },
  });
  const late = changeTemplate(fleet().kube, seen, { template: templateWith(2), cause: 'late' }, 'none');
  await expect(late).rejects.toThrow('pool web was changed concurrently: check its template and try again');
  expect(await template(namespace)).toEqual(templateWith(1));
});

test('the history shows what drover has done, from what to what, the requester and how it ended', async () => {
  // On KubeVirt a VMI that is never ready is so for a moment.
  const namespace = await aPool({ rollout: { progressDeadlineSeconds: 2, minReadySeconds: 1 } });
  const [first, second] = [templateWith(1), templateWith(2, { 'sim.drover.dev/never-ready': 'true' })];
  expect(await apply(namespace, { replicas: 3, template: second }, '--force-conflicts')).toMatchObject({ code: 0 });
  await until(async () => expect((await fleet().condition(namespace, 'web', 'Progressing'))?.reason).toBe('Failed'));
  expect(await rolloutIn(namespace)('abort')).toMatchObject({ code: 1 });
  expect(await rolloutIn(namespace)('pause', '--reason', 'lunch')).toMatchObject({ code: 0 });

  const history = (...flags: string[]): Promise<Outcome> =>
    run(['history', 'pool', 'web', '-n', namespace, ...flags], env());
  const update = {
    action: 'restart',
    from: revisionOf(first),
    to: revisionOf(second),
    requestedBy: 'bob@desk',
    end: 'Failed',
  };
  let actions: Act[] = [];
  // Temporal's lists lag a little.
  await until(async () => {
    actions = JSON.parse((await history('-o', 'json')).stdout) as Act[];
    expect(actions).toMatchObject([
      {
        action: 'create',
        vms: ['web-1', 'web-2', 'web-3'],
        to: revisionOf(first),
        end: 'Done',
        workflow: `pool/default/${namespace}/web`,
      },
      { ...update, vms: [expect.stringMatching(/^web-\d$/)] },
      { action: 'pause', vms: [], requestedBy: 'admin', message: 'lunch', end: 'Done' },
    ]);
  });
  const [vm = ''] = actions[1]!.vms;
  const rows = (await history('--vm', vm)).stdout
    .trimEnd()
    .split('\n')
    .slice(1)
    .map((row) => row.split(/ {2,}/).slice(1, 7));
  expect(rows).toEqual([
    ['create', vm, '<none>', revisionOf(first), 'drover', 'Done'],
    ['restart', vm, revisionOf(first), revisionOf(second), 'bob@desk', 'Failed'],
  ]);
  expect((await history('--since', '1h', '--vm', vm)).stdout.split('\n')).toHaveLength(4);
  expect(await history('--since', '1ms')).toMatchObject({
    code: 0,
    stdout: '',
    stderr: expect.stringMatching(/^nothing is on record for VMs of pool web since \S+Z\n$/) as string,
  });
  expect(await run(['history', 'pool', 'nope', '-n', namespace], env())).toMatchObject({
    code: 1,
    stdout: '',
    stderr: 'error: virtualmachinepools.drover.dev "nope" not found\n',
  });
});

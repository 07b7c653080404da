/* oxlint-disable unicorn/no-thenable -- the word is the user's */
import { execFile, spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { droverCrds } from '../../api/crd/crds.ts';
import type { IntOrPercent } from '../../api/lib/int-or-percent.ts';
import { parseManifests } from '../../api/manifest/manifest.ts';
import type { Applicable } from '../../api/manifest/reader.ts';
import type { KubeObject } from '../../api/objects.ts';
import type { VirtualMachinePool } from '../../api/pool/pool.ts';
import type { Rollout } from '../../api/pool/rollout.ts';
import {
  VirtualMachineDisruptionBudgets,
  VirtualMachineInstanceReplicaSets,
  VirtualMachinePools,
  VirtualMachineReplicaSets,
} from '../../api/resources.ts';
import { CRD_FOLDER, crdFiles } from '../../deploy/generate-crds.ts';
import { installCrds } from '../../dev/crds/crds.ts';
import { KubeError } from '../../kubernetes/errors.ts';
import { PATIENCE_MS } from '../wait-for.ts';
import { anApiServer } from './api-server.ts';
import { barePool } from './pools.ts';

const EXAMPLES = new URL('../../examples/', import.meta.url);
const hasKubectl = spawnSync('kubectl', ['version', '--client']).status === 0;

const server = anApiServer();

const inNamespace = <T extends Applicable>(object: T, name = 'web'): T => ({
  ...object,
  metadata: { name, namespace: 'default' },
});

const stepsTo = (...steps: IntOrPercent[]): Rollout => ({ steps: steps.map((to) => ({ to, then: { approval: {} } })) });

const QUERY = { address: 'http://prometheus:9090', query: 'up', min: 1 };
const JOB = { template: { spec: { template: { spec: { restartPolicy: 'Never' } } } } };
const checkedBy = (check: object): object => ({ rollout: { steps: [{ to: 1, then: { check } }] } });

/** Returns the API server's error message for an object that it should reject. */
async function refusalOf(object: object, resource = VirtualMachinePools): Promise<string> {
  try {
    await server().client.create(resource, object as KubeObject, { dryRun: true });
  } catch (error) {
    if (error instanceof KubeError) return error.message;
    throw error;
  }
  return 'accepted';
}

describe('the API server', () => {
  it('keeps a pool as it was written, including unknown fields of the VM', async () => {
    const pool = inNamespace(
      barePool({
        maxUnavailable: '30%',
        updateStrategy: {
          proactive: { disruption: 'Live', selectionPolicy: { orderedPolicies: [{ labelSelector: {} }] } },
        },
        scaleInStrategy: { opportunistic: { statePreservation: 'Offline' } },
        vmRolloutStrategy: 'LiveUpdate',
        rollout: {
          steps: [
            { to: 9, then: { approval: {} } },
            { to: '9%', then: { wait: '1h30m' } },
            { to: 10, then: { approval: {} } },
            { to: '10%', then: { approval: {} } },
            { to: '11%', then: { check: { prometheus: { ...QUERY, max: 1.5 }, holdsFor: '10m', onFailure: 'Undo' } } },
            { to: '12%', then: { check: { job: JOB, failureThreshold: 2 } } },
            { to: '100%', then: { approval: {} } },
          ],
          windows: [{ cron: '0 22 * * 1-5', duration: '6h', timeZone: 'Europe/Zurich' }],
        },
        autohealing: {
          unhealthyAfter: { notReady: '10m', unknownNode: 'never' },
          backoff: { jitter: 0.25 },
          maxUnhealthy: 3,
        },
        template: {
          metadata: { labels: { app: 'web' } },
          spec: {
            runStrategy: 'Always',
            future: [{ field: null }, 1.5, 'on'],
            dataVolumeTemplates: [{ metadata: { name: 'disk', labels: { a: 'b' } }, spec: { pvc: {} } }],
            template: { metadata: { annotations: { a: 'b' } }, spec: { domain: { cpu: { sockets: 2 } } } },
          },
        },
        selector: { matchLabels: { app: 'web', 'drover.dev/pool': 'web' } },
      }),
    );
    const stored = await server().client.create(VirtualMachinePools, pool);
    expect(stored['spec']).toEqual(pool.spec);
    expect(stored.metadata.generation).toBe(1);
  });

  it.each(readdirSync(EXAMPLES).filter((file) => file.endsWith('.yaml')))('accepts examples/%s', async (file) => {
    const kinds = [
      VirtualMachinePools,
      VirtualMachineReplicaSets,
      VirtualMachineInstanceReplicaSets,
      VirtualMachineDisruptionBudgets,
    ];
    for (const { object } of parseManifests(readFileSync(new URL(file, EXAMPLES), 'utf8'), file)) {
      const resource = kinds.find(({ kind }) => kind === object.kind)!;
      expect(await refusalOf(inNamespace(object, 'example'), resource)).toBe('accepted');
    }
  });

  it.each<[string, object, string]>([
    ['no template', { template: undefined }, 'spec.template: Required value'],
    ['too many replicas', { replicas: 100_000 }, 'should be less than or equal to 99999'],
    ['no share', { maxUnavailable: '0%' }, 'maxUnavailable must be at least 1, unless maxSurge is'],
    ['no VM', { maxUnavailable: 0, maxSurge: 0 }, 'maxUnavailable must be at least 1, unless maxSurge is'],
    ['less than no VM', { maxSurge: -1 }, 'spec.maxSurge: Invalid value: -1: must be a whole number of at least 0'],
    [
      'extra VMs for no update',
      { maxSurge: 1, updateStrategy: { unmanaged: {} } },
      'maxSurge must be 0 unless updateStrategy is proactive',
    ],
    [
      'extra VMs without data',
      {
        maxSurge: 1,
        template: { spec: { running: true, dataVolumeTemplates: [{ metadata: { name: 'root' } }], template: {} } },
      },
      'maxSurge must be 0 if VMs have their own disks',
    ],
    [
      'an extra VM that stays stopped',
      { maxSurge: 1, template: { spec: { running: false, template: {} } } },
      'maxSurge must be 0 unless VMs start by themselves',
    ],
    [
      'two strategies',
      { updateStrategy: { unmanaged: {}, proactive: {} } },
      'must hold at most one of unmanaged, opportunistic and proactive',
    ],
    [
      'Online',
      { scaleInStrategy: { proactive: { statePreservation: 'Online' } } },
      'supported values: "Disabled", "Offline"',
    ],
    [
      'a drain of VMs that KubeVirt would move by itself',
      {
        drain: {},
        template: { spec: { runStrategy: 'Always', template: { spec: { evictionStrategy: 'LiveMigrate' } } } },
      },
      'template.spec.template.spec.evictionStrategy must be left out or External in a pool with drain',
    ],
    ['no duration', { autohealing: { backoff: { max: '10min' } } }, 'must be a duration such as 30s, 10m or 1h30m'],
    [
      'a step without end',
      { rollout: { steps: [{ to: 1, then: {} }] } },
      'must hold exactly one of wait, approval and check',
    ],
    ['a check of nothing', checkedBy({}), 'must hold exactly one of prometheus and job'],
    [
      'a check of two things',
      checkedBy({ prometheus: QUERY, job: JOB }),
      'must hold exactly one of prometheus and job',
    ],
    ['a query without a range', checkedBy({ prometheus: { ...QUERY, min: undefined } }), 'must hold min, max or both'],
    ['an empty range', checkedBy({ prometheus: { ...QUERY, max: 0 } }), 'min must not be more than max'],
    [
      'no address',
      checkedBy({ prometheus: { ...QUERY, address: 'prometheus:9090' } }),
      'must be the http or https URL of a Prometheus',
    ],
    [
      'a check that must hold beyond its deadline',
      checkedBy({ prometheus: QUERY, holdsFor: '60m' }),
      'holdsFor must be less than deadline',
    ],
    [
      'a check that would be looked at all the time',
      checkedBy({ prometheus: QUERY, every: '1s' }),
      'then.check.every: Invalid value: "1s": must be at least 5s',
    ],
    ['a step to no VM', { rollout: stepsTo(0) }, 'spec.rollout.steps[0].to: Invalid value: 0'],
    ['a step to no share', { rollout: stepsTo(1, '0%') }, 'spec.rollout.steps[1].to: Invalid value: "0%"'],
    ['a step to more than all', { rollout: stepsTo('101%') }, 'spec.rollout.steps[0].to: Invalid value: "101%"'],
    ['a step to a number in quotes', { rollout: stepsTo('5') }, 'spec.rollout.steps[0].to: Invalid value: "5"'],
    [
      'steps that fall',
      { rollout: stepsTo(9, 10, 8) },
      'spec.rollout.steps: Invalid value: numbers must rise from step to step',
    ],
    [
      'percentages that fall, whatever stands between',
      { rollout: stepsTo('9%', 5, '10%', 6, '8%') },
      'percentages must rise from step to step',
    ],
    ['percentages of two digits that fall', { rollout: stepsTo('35%', '29%') }, 'percentages must rise'],
    ['a step after all of them', { rollout: stepsTo('100%', '99%') }, 'percentages must rise'],
    ['an unknown rollout strategy', { vmRolloutStrategy: 'Live' }, 'supported values: "Stage", "LiveUpdate"'],
    ['no cron', { rollout: { windows: [{ cron: '@daily', duration: '1h' }] } }, 'must have five fields: minute, hour'],
    [
      'a field that KubeVirt has removed',
      { template: { spec: { running: true, template: {}, liveUpdateFeatures: { cpu: { maxSockets: 8 } } } } },
      'spec.template.spec.liveUpdateFeatures: Invalid value: KubeVirt no longer has liveUpdateFeatures',
    ],
    [
      'that field without a content',
      { template: { spec: { running: true, template: {}, liveUpdateFeatures: {} } } },
      'KubeVirt no longer has liveUpdateFeatures',
    ],
    [
      'a selector of others',
      { selector: { matchLabels: { app: 'db' } } },
      'selector must match the labels of template.metadata',
    ],
    ['no VMI', { template: { spec: { running: true } } }, 'spec.template.spec.template: Required value'],
    [
      'two ways to run',
      { template: { spec: { running: true, runStrategy: 'Always', template: {} } } },
      'must hold either runStrategy or',
    ],
  ])('refuses %s', async (_, fields, words) => {
    expect(await refusalOf(inNamespace(barePool(fields)))).toContain(words);
  });

  it('accepts a pool in which no VM goes down before an extra one has come up', async () => {
    const pool = barePool({ maxUnavailable: 0, maxSurge: '5%' });
    expect(await refusalOf(inNamespace(pool, 'surging'))).toBe('accepted');
  });

  it.each([
    ['a.b', 'metadata.name must be at most 57 lower-case letters'],
    ['a'.repeat(58), 'metadata.name must be at most 57 lower-case letters'],
    ['a'.repeat(57), 'accepted'],
  ])('on the name %s', async (name, words) => {
    expect(await refusalOf(inNamespace(barePool(), name))).toContain(words);
  });

  it('scales a pool, and raises its generation only when its spec changes', async () => {
    const key = { namespace: 'default', name: 'scaled' };
    await server().client.create(VirtualMachinePools, inNamespace(barePool({ replicas: 2 }), key.name));
    const status = { replicas: 2, labelSelector: 'drover.dev/pool=scaled', observedGeneration: 1 };
    await server().client.patch(VirtualMachinePools, key, 'merge', { status }, { subresource: 'status' });
    const scale = await server().client.patch(
      VirtualMachinePools,
      key,
      'merge',
      { spec: { replicas: 5 } },
      { subresource: 'scale' },
    );
    expect(scale).toMatchObject({
      kind: 'Scale',
      spec: { replicas: 5 },
      status: { replicas: 2, selector: 'drover.dev/pool=scaled' },
    });
    expect(await server().client.get(VirtualMachinePools, key)).toMatchObject({
      metadata: { generation: 2 },
      spec: { replicas: 5 },
      status,
    });
  });

  it('accepts updates of a stored pool whose steps it would reject today', async () => {
    const [crd] = structuredClone(droverCrds());
    const { rollout } = crd!.spec.versions[0]!.schema.openAPIV3Schema.properties!['spec']!.properties!;
    delete rollout!.properties!['steps']!['x-kubernetes-validations'];
    const key = { namespace: 'default', name: 'falling' };
    const falling = inNamespace(barePool({ rollout: stepsTo(3, 1) }), key.name);
    const untilSaid = async (words: string): Promise<void> => {
      await expect.poll(() => refusalOf(falling), { timeout: PATIENCE_MS }).toContain(words);
    };

    await installCrds(server().client, [crd!]);
    await untilSaid('accepted');
    await server().client.create(VirtualMachinePools, falling);
    await installCrds(server().client, droverCrds());
    await untilSaid('numbers must rise');

    await server().client.patch(
      VirtualMachinePools,
      key,
      'json',
      [{ op: 'add', path: '/status', value: { replicas: 2 } }],
      {
        subresource: 'status',
      },
    );
    const scaled = await server().client.patch<VirtualMachinePool>(VirtualMachinePools, key, 'merge', {
      spec: { replicas: 3 },
    });
    expect(scaled).toMatchObject({ spec: { replicas: 3, rollout: falling.spec.rollout }, status: { replicas: 2 } });
    const otherSteps = server().client.patch(VirtualMachinePools, key, 'merge', { spec: { rollout: stepsTo(4, 1) } });
    await expect(otherSteps).rejects.toThrow('numbers must rise');
  });

  it('merges conditions by their type', async () => {
    const key = { namespace: 'default', name: 'conditions' };
    await server().client.create(VirtualMachinePools, inNamespace(barePool(), key.name));
    const write = (manager: string, type: string): Promise<VirtualMachinePool> =>
      server().client.patch<VirtualMachinePool>(
        VirtualMachinePools,
        key,
        'apply',
        { metadata: key, status: { replicas: 0, conditions: [{ type, status: 'True' }] } },
        { subresource: 'status', fieldManager: manager, force: true },
      );
    await write('one', 'Ready');
    const { status } = await write('other', 'Paused');
    expect(status?.conditions?.map(({ type }) => type)).toEqual(['Ready', 'Paused']);
  });
});

const fileOf = (name: string, text: string): string => {
  const path = join(server().folder, name);
  writeFileSync(path, text);
  return path;
};

describe.skipIf(!hasKubectl)('kubectl', () => {
  const run = promisify(execFile);
  const kubectl = async (...args: string[]): Promise<string> =>
    (
      await run('kubectl', [
        '--kubeconfig',
        server().stack.kubeconfig,
        '--cache-dir',
        join(server().folder, 'cache'),
        ...args,
      ])
    ).stdout;
  it('applies the CRDs of deploy/crds', async () => {
    const output = await kubectl(
      'apply',
      '--dry-run=server',
      '--server-side',
      '--force-conflicts',
      '-f',
      fileURLToPath(CRD_FOLDER),
    );
    expect(output.trim().split('\n')).toHaveLength(crdFiles().size);
    expect(readdirSync(CRD_FOLDER)).toHaveLength(crdFiles().size);
  });

  it('applies, shows, explains and scales a pool', async () => {
    const pool = fileOf('pool.yaml', stringify(inNamespace(barePool(), 'by-kubectl')));
    expect(await kubectl('apply', '-f', pool)).toContain('virtualmachinepool.drover.dev/by-kubectl created');
    expect(await kubectl('scale', 'dpool/by-kubectl', '--replicas', '7')).toContain('scaled');
    const [header, row] = (await kubectl('get', 'dpool', 'by-kubectl')).split('\n');
    expect(header?.split(/\s+/)).toEqual([
      'NAME',
      'DESIRED',
      'CURRENT',
      'READY',
      'UPDATED',
      'AVAILABLE',
      'ROLLOUT',
      'PAUSED',
      'AGE',
    ]);
    expect(row).toMatch(/^by-kubectl\s+7\s/);
    expect(await kubectl('get', 'drover', '-o', 'name')).toContain('virtualmachinepool.drover.dev/by-kubectl');
    expect(await kubectl('explain', 'dpool.spec.maxUnavailable')).toContain('25% by default');
  });

  it('refuses a field that the schema lacks', async () => {
    const pool = fileOf('unknown.yaml', stringify(inNamespace({ ...barePool({ replica: 3 } as object) }, 'unknown')));
    await expect(kubectl('apply', '-f', pool)).rejects.toThrow('unknown field "spec.replica"');
  });

  it('reads YAML as drover does', async () => {
    const scalars = [
      'yes Off y N TRUE "on" 0644 0o17 0xFF 0b11 1_000 1_000.5 +12 1e3 1e+3 .5 08 1.0 -0.5 9007199254740991',
      'e1 1e 12:30:45 1:30 2020-01-01 2020-01-01T00:00:00Z ~ Null =',
    ].flatMap((line) => line.split(' '));
    const fields = scalars.map((scalar, index) => `        f${index}: ${scalar}`).join('\n');
    const text = [
      'apiVersion: drover.dev/v1alpha1',
      'kind: VirtualMachinePool',
      'metadata: {name: scalars}',
      'spec:',
      '  replicas: 0',
      '  template:',
      '    spec:',
      '      runStrategy: Halted',
      '      template:',
      fields,
      '        a: &a {x: 1}',
      '        b: {<<: *a, z: 2}',
      '        80: port',
      '',
    ].join('\n');
    const output = await kubectl(
      'create',
      '--dry-run=client',
      '--validate=false',
      '-o',
      'json',
      '-f',
      fileOf('scalars.yaml', text),
    );
    const seen = JSON.parse(output) as VirtualMachinePool;
    expect((parseManifests(text, 'x')[0]!.object as VirtualMachinePool).spec.template).toEqual(seen.spec.template);
  });
});

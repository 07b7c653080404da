/* oxlint-disable unicorn/no-thenable -- the word is the user's */
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import {
  ManifestErrors,
  parseManifests,
  readManifests,
  type Manifest,
  type Problem,
} from '../../../api/manifest/manifest.ts';
import type { VirtualMachinePool } from '../../../api/pool/pool.ts';
import { barePool, labels, name, template } from '../pools.ts';

type Pool = Manifest & { object: VirtualMachinePool };

const proposal = (file: string): string =>
  readFileSync(new URL(`../../fixtures/proposal/${file}`, import.meta.url), 'utf8');

function problemsOf(text: string): readonly Problem[] {
  try {
    parseManifests(text, 'pools.yaml');
  } catch (error) {
    if (error instanceof ManifestErrors) return error.problems;
    throw error;
  }
  return [];
}
const messagesOf = (text: string): string[] => problemsOf(text).map(({ path, message }) => `${path}: ${message}`);
const only = (manifests: Manifest[]): Pool => {
  expect(manifests).toHaveLength(1);
  return manifests[0] as Pool;
};
const LIVE_UPDATE_FEATURES =
  "KubeVirt no longer has liveUpdateFeatures: write cpu.maxSockets and memory.maxGuest in the VM's spec.template.spec.domain, " +
  'and vmRolloutStrategy: LiveUpdate in the KubeVirt object or in the pool';
const to = (to: number | string): object => ({ to, then: { approval: {} } });
const REPLACE = { proactive: { disruption: 'Replace' } };
const withDisk = { spec: { running: true, dataVolumeTemplates: [{ metadata: { name: 'root' } }], template: {} } };
/** The bare pool with these fields in its spec, as text. */
const withFields = (fields: object): string => stringify({ ...barePool(), spec: { ...barePool().spec, ...fields } });

describe('extra VMs during an update', () => {
  it.each<[string, object]>([
    ['nothing may go down', { maxUnavailable: 0, maxSurge: 1 }],
    ['a share of nothing may go down', { maxUnavailable: '0%', maxSurge: '5%' }],
    ['disks that an update replaces', { maxSurge: 1, template: withDisk, updateStrategy: REPLACE }],
    ['none, if VMs have disks', { maxSurge: 0, template: withDisk }],
  ])('%s', (_, fields) => {
    expect(messagesOf(withFields(fields))).toEqual([]);
  });
});

const healingNotesOf = (fields: string): string[] => {
  const pool = proposal('1-rolling.yaml').replace(/^spec:$/m, `spec:\n  autohealing: ${fields}`);
  return only(parseManifests(pool, '1.yaml')).notes.filter((note) => note.startsWith('spec.autohealing'));
};

describe("the proposal's examples", () => {
  it('number 1 applies as it stands', () => {
    const { object, notes } = only(parseManifests(proposal('1-rolling.yaml'), '1.yaml'));
    expect(object).toMatchObject({
      apiVersion: 'drover.dev/v1alpha1',
      metadata: { name: 'my-vm-pool' },
      spec: { replicas: 100, maxUnavailable: 10, scaleInStrategy: { proactive: { statePreservation: 'Offline' } } },
    });
    expect(object.spec.template.spec.dataVolumeTemplates?.[0]).toMatchObject({
      spec: { pvc: { accessModes: ['ReadWriteOnce'] } },
    });
    expect(notes).toEqual(["kubevirt.io/v1 is read as drover.dev/v1alpha1: the pool is drover's"]);
  });

  it('says of autohealing that it keeps disks which the proposal deletes, unless the pool gives them up', () => {
    expect(healingNotesOf('{}')).toEqual([
      "spec.autohealing: a VM that has run well keeps its disks when it is replaced, which the design proposal deletes; drover's own preserveStorage: false gives them up",
    ]);
    expect(healingNotesOf('{preserveStorage: false}')).toEqual([]);
  });

  it('number 2 has a typo in replicas, which is the only fault reported', () => {
    expect(problemsOf(proposal('2-manual.yaml'))).toEqual([
      {
        source: 'pools.yaml',
        document: 1,
        line: 6,
        path: 'spec.replica',
        message: 'unknown field; did you mean replicas?',
      },
    ]);
  });

  it('number 3 lacks a colon, and the right shape is shown', () => {
    expect(problemsOf(proposal('3-ordered.yaml'))).toEqual([
      {
        source: 'pools.yaml',
        document: 1,
        line: 12,
        path: 'spec.scaleInStrategy.proactive.selectionPolicy.orderedPolicies[0]',
        message:
          'YAML reads "labelSelector - non-important-vms" as one text; ' +
          'an entry is written as "- labelSelector: {matchLabels: {<key>: <value>}}"',
      },
    ]);
  });
});

describe('a pool', () => {
  const pool = fc
    .tuple(template, fc.nat(99_999), name, labels)
    .map(([template, replicas, name, labels]) => ({ ...barePool({ replicas, template }), metadata: { name, labels } }));

  it('is read as it was written, in YAML', () => {
    fc.assert(
      fc.property(pool, (pool) => {
        expect(only(parseManifests(stringify(pool, { version: '1.1' }), 'x')).object).toEqual(pool);
      }),
    );
  });

  it('is read as it was written, in JSON', () => {
    fc.assert(
      fc.property(pool, fc.constantFrom(0, 2, '\t'), (pool, indent) => {
        expect(only(parseManifests(JSON.stringify(pool, null, indent), 'x')).object).toEqual(pool);
      }),
    );
  });

  it('may be the output of kubectl get', () => {
    const stored = {
      ...barePool(),
      metadata: {
        name: 'web',
        uid: '1',
        resourceVersion: '7',
        generation: 2,
        creationTimestamp: '2026-01-01T00:00:00Z',
        managedFields: [{ manager: 'kubectl' }],
        annotations: {
          'kubectl.kubernetes.io/last-applied-configuration': '{}',
          'drover.dev/requested-by': 'ann@desk',
          note: 'kept',
        },
      },
      status: { replicas: 3 },
    };
    const { object, notes } = only(parseManifests(stringify({ apiVersion: 'v1', kind: 'List', items: [stored] }), 'x'));
    expect(object).toEqual({ ...barePool(), metadata: { name: 'web', annotations: { note: 'kept' } } });
    expect(notes).toEqual([
      'status is left out: drover writes it',
      'metadata: uid, resourceVersion, generation, creationTimestamp, managedFields left out: the API server keeps them',
      'metadata.annotations: drover.dev/requested-by is left out: drover writes it, from the user or from $DROVER_REQUESTED_BY',
    ]);
  });

  it('may have empty metadata, as generated manifests do', () => {
    const text = stringify({ ...barePool(), metadata: { name: 'web', creationTimestamp: null, labels: null } });
    expect(only(parseManifests(text, 'x'))).toMatchObject({ object: { metadata: { name: 'web' } }, notes: [] });
  });

  it.each([
    [[1, 5, '10%', 20, '100%']],
    // How a number and a percentage compare depends on the size of the pool.
    [['50%', 1, '60%', 2]],
  ])('may stop at the steps %j', (steps) => {
    const text = withFields({ rollout: { steps: steps.map(to) } });
    expect(only(parseManifests(text, 'x')).object.spec.rollout?.steps).toHaveLength(steps.length);
  });

  it.each([
    ['0 22 * * 1-5', 'Europe/Zurich'],
    ['*/30 1,3 1-7 JAN-MAR sun', 'UTC'],
    ['0 0 29 2 *', undefined],
    ['0 0 L * *', 'America/Argentina/Buenos_Aires'],
  ])('may have a window at %s (%s)', (cron, timeZone) => {
    const text = withFields({ rollout: { windows: [{ cron, duration: '1h30m', ...(timeZone && { timeZone }) }] } });
    expect(messagesOf(text)).toEqual([]);
  });

  it('may select its VMs by the label that drover sets on them', () => {
    const text = withFields({ selector: { matchLabels: { 'drover.dev/pool': 'web' } } });
    expect(only(parseManifests(text, 'x')).object.spec.selector).toEqual({ matchLabels: { 'drover.dev/pool': 'web' } });
  });
});

describe('the list of faults', () => {
  it('has all of them at once, in the order of the lines', () => {
    const text = withFields({
      colour: 'red',
      selector: { matchLabels: { app: 'db' } },
      updateStrategy: { unmanaged: {}, proactive: { disruption: 'restart' } },
      paused: 1,
    });
    expect(problemsOf(text).map(({ path }) => path)).toEqual([
      'spec.colour',
      'spec.selector',
      'spec.updateStrategy',
      'spec.updateStrategy.proactive.disruption',
      'spec.paused',
    ]);
  });
});

describe('a fault in a manifest', () => {
  it.each<[string, object, string]>([
    [
      'a missing field',
      { template: undefined },
      'spec.template: is missing: it must be an object (lines of "key: value")',
    ],
    [
      'an empty field',
      { updateStrategy: { unmanaged: null } },
      'spec.updateStrategy.unmanaged: is empty: it must be an object (lines of "key: value")',
    ],
    [
      'a number in quotes',
      { replicas: '3' },
      'spec.replicas: must be a whole number, found the text "3": remove the quotes',
    ],
    ['a fraction', { replicas: 1.5 }, 'spec.replicas: must be a whole number, found 1.5'],
    ['too few', { replicas: -1 }, 'spec.replicas: must be at least 0, found -1'],
    ['too many', { replicas: 100_000 }, 'spec.replicas: must be at most 99999, found 100000'],
    [
      'a share of nothing',
      { maxUnavailable: '0%' },
      'spec.maxUnavailable: must be at least 1, unless maxSurge is: with both 0 no VM could be updated, found the text "0%"',
    ],
    [
      'neither VMs down nor VMs extra',
      { maxUnavailable: 0, maxSurge: '0%' },
      'spec.maxUnavailable: must be at least 1, unless maxSurge is: with both 0 no VM could be updated, found 0',
    ],
    [
      'less than no extra VM',
      { maxSurge: -1 },
      'spec.maxSurge: must be a whole number of at least 0, or a percentage from "0%" to "100%", found -1',
    ],
    [
      'an extra VM without the data of the others',
      { maxSurge: 1, template: withDisk },
      'spec.maxSurge: must be 0 if VMs have their own disks (dataVolumeTemplates), unless ' +
        'updateStrategy.proactive.disruption is Replace: an extra VM has none of their data, found 1',
    ],
    [
      'extra VMs for no update',
      { maxSurge: '10%', updateStrategy: { opportunistic: {} } },
      'spec.maxSurge: must be 0 unless updateStrategy is proactive: only its updates make extra VMs, found the text "10%"',
    ],
    [
      'an extra VM that stays stopped',
      { maxSurge: 1, template: { spec: { runStrategy: 'Manual', template: {} } } },
      'spec.maxSurge: must be 0 unless VMs start by themselves (runStrategy Always, RerunOnFailure, Once): ' +
        'an extra VM is of use only while it runs, found 1',
    ],
    [
      'no number',
      { maxUnavailable: [] },
      'spec.maxUnavailable: must be a whole number of at least 0, or a percentage from "0%" to "100%", found a list',
    ],
    ['a word for true', { paused: 'yess' }, 'spec.paused: must be true or false, found the text "yess"'],
    [
      'two strategies',
      { updateStrategy: { unmanaged: {}, proactive: {} } },
      'spec.updateStrategy: must hold at most one of unmanaged, opportunistic and proactive',
    ],
    [
      'an unknown word',
      { updateStrategy: { proactive: { disruption: 'restart' } } },
      'spec.updateStrategy.proactive.disruption: must be one of None, Live, Restart and Replace, found the text "restart"',
    ],
    [
      'Snapshot',
      { scaleInStrategy: { opportunistic: { statePreservation: 'Snapshot' } } },
      "spec.scaleInStrategy.opportunistic.statePreservation: can't be Snapshot: a snapshot leaves out disks whose storage class has no VolumeSnapshotClass, and is restored to other disks; Offline keeps the disks themselves, Disabled nothing",
    ],
    [
      'Online',
      { scaleInStrategy: { proactive: { statePreservation: 'Online' } } },
      "spec.scaleInStrategy.proactive.statePreservation: can't be Online: KubeVirt has no way yet to keep a VM's memory on a disk (kubevirt/kubevirt#18054); Offline keeps its disks, Disabled nothing",
    ],
    [
      'no duration',
      { autohealing: { backoff: { max: 10 } } },
      'spec.autohealing.backoff.max: must be a duration such as 30s, 10m or 1h30m (units: ms, s, m, h), found 10',
    ],
    [
      'neither a duration nor never',
      { autohealing: { unhealthyAfter: { notReady: 'soon' } } },
      'spec.autohealing.unhealthyAfter.notReady: must be a duration such as 30s, 10m or 1h30m (units: ms, s, m, h), or never, found the text "soon"',
    ],
    [
      'a step that waits for nothing',
      { rollout: { steps: [{ to: 1, then: {} }] } },
      'spec.rollout.steps[0].then: must hold exactly one of wait, approval and check',
    ],
    [
      'a check of nothing',
      { rollout: { steps: [{ to: 1, then: { check: {} } }] } },
      'spec.rollout.steps[0].then.check: must hold exactly one of prometheus and job',
    ],
    [
      'a check without a range',
      { rollout: { steps: [{ to: 1, then: { check: { prometheus: { address: 'http://a', query: 'up' } } } }] } },
      'spec.rollout.steps[0].then.check.prometheus: must hold min, max or both',
    ],
    [
      'a check that looks too often',
      {
        rollout: {
          steps: [{ to: 1, then: { check: { job: { template: { spec: { template: {} } } }, every: '1s' } } }],
        },
      },
      'spec.rollout.steps[0].then.check.every: must be at least 5s, found the text "1s"',
    ],
    ['a list for an object', { rollout: [] }, 'spec.rollout: must be an object (lines of "key: value"), found a list'],
    [
      'no cron',
      { rollout: { windows: [{ cron: 'at night', duration: '1h' }] } },
      'spec.rollout.windows[0].cron: must have five fields: minute, hour, day of month, month, day of week, found the text "at night"',
    ],
    [
      'a spread of updates',
      { updateStrategy: { proactive: { selectionPolicy: { spread: 'zone' } } } },
      'spec.updateStrategy.proactive.selectionPolicy.spread: unknown field here; it belongs in spec.scaleInStrategy.proactive.selectionPolicy',
    ],
    [
      'an unknown spread',
      { scaleInStrategy: { proactive: { selectionPolicy: { spread: 'rack' } } } },
      'spec.scaleInStrategy.proactive.selectionPolicy.spread: must be one of node and zone, found the text "rack"',
    ],
    [
      'windows for a scale-in that waits for people',
      { scaleInStrategy: { opportunistic: { windows: [] } } },
      'spec.scaleInStrategy.opportunistic.windows: unknown field here; it belongs in spec.scaleInStrategy.proactive or spec.rollout or spec.drain',
    ],
    [
      'a window for scale-in at an hour that no day has',
      { scaleInStrategy: { proactive: { windows: [{ cron: '0 25 * * *', duration: '1h' }] } } },
      'spec.scaleInStrategy.proactive.windows[0].cron: hour 25 is not understood: write 0 to 23, a list (2,4), a rising range (2-4) or a step (*/2)',
    ],
    [
      'an hour that no day has',
      { rollout: { windows: [{ cron: '0 25 * * *', duration: '1h' }] } },
      'spec.rollout.windows[0].cron: hour 25 is not understood: write 0 to 23, a list (2,4), a rising range (2-4) or a step (*/2)',
    ],
    [
      'a range that falls',
      { rollout: { windows: [{ cron: '0 22-4 * * *', duration: '1h' }] } },
      'spec.rollout.windows[0].cron: hour 22-4 is not understood: write 0 to 23, a list (2,4), a rising range (2-4) or a step (*/2)',
    ],
    [
      'an unknown weekday',
      { rollout: { windows: [{ cron: '0 0 * * MO-FR', duration: '1h' }] } },
      'spec.rollout.windows[0].cron: day of week MO-FR is not understood: write 0 to 7 or SUN to SAT, a list (2,4), a rising range (2-4) or a step (*/2)',
    ],
    [
      'a day of no year',
      { rollout: { windows: [{ cron: '0 0 30 2 *', duration: '1h' }] } },
      'spec.rollout.windows[0].cron: no year has such a day, so it never runs',
    ],
    [
      'a window of no length',
      { rollout: { windows: [{ cron: '0 0 * * *', duration: '0h0m' }] } },
      'spec.rollout.windows[0].duration: must be greater than 0, found the text "0h0m"',
    ],
    [
      'a misspelt time zone',
      { rollout: { windows: [{ cron: '0 0 * * *', duration: '1h', timeZone: 'Europe/Zurch' }] } },
      'spec.rollout.windows[0].timeZone: Europe/Zurch is not a time zone; did you mean Europe/Zurich?',
    ],
    [
      'a time zone of nowhere',
      { rollout: { windows: [{ cron: '0 0 * * *', duration: '1h', timeZone: 'the one of the office' }] } },
      'spec.rollout.windows[0].timeZone: the one of the office is not a time zone: use a name such as Europe/Zurich or UTC',
    ],
    [
      'steps that fall',
      { rollout: { steps: [to(5), to('10%'), to(3)] } },
      'spec.rollout.steps[2].to: must be more than the 5 of a step before it, found 3',
    ],
    [
      'steps that stand still',
      { rollout: { steps: [to('10%'), to('10%')] } },
      'spec.rollout.steps[1].to: must be more than the 10% of a step before it, found the text "10%"',
    ],
    [
      'an unknown rollout strategy',
      { vmRolloutStrategy: 'Live' },
      'spec.vmRolloutStrategy: must be one of Stage and LiveUpdate, found the text "Live"',
    ],
    [
      'a field of old beside the template',
      { liveUpdateFeatures: {} },
      `spec.liveUpdateFeatures: ${LIVE_UPDATE_FEATURES}`,
    ],
    [
      'a selector of other VMs',
      { selector: { matchLabels: { app: 'db' } } },
      'spec.selector: must match the labels of template.metadata',
    ],
    [
      'a requirement without values',
      { selector: { matchExpressions: [{ key: 'a', operator: 'In' }] } },
      'spec.selector.matchExpressions[0]: In and NotIn need values; Exists and DoesNotExist take none',
    ],
    [
      'a drain of VMs that KubeVirt would move by itself',
      {
        drain: {},
        template: {
          spec: { runStrategy: 'Always', template: { spec: { evictionStrategy: 'LiveMigrate', domain: {} } } },
        },
      },
      'spec.template.spec.template.spec.evictionStrategy: must be left out or External in a pool with drain: under any other strategy KubeVirt itself acts on evictions, found the text "LiveMigrate"',
    ],
    [
      'an unknown way to drain',
      { drain: { method: 'Evict' } },
      'spec.drain.method: must be one of MigrateOrRestart, Migrate and Restart, found the text "Evict"',
    ],
    [
      'a field of elsewhere',
      { statePreservation: 'Offline' },
      'spec.statePreservation: unknown field here; it belongs in spec.scaleInStrategy.opportunistic or spec.scaleInStrategy.proactive',
    ],
    [
      "KubeVirt's word",
      { nameGeneration: { appendIndexToSecretRefs: true } },
      "spec.nameGeneration.appendIndexToSecretRefs: unknown field; this is KubeVirt's name (pool.kubevirt.io) for appendPostfixToSecretReferences",
    ],
    [
      'standby VMs if nobody starts the VMs of the template',
      {
        standby: { replicas: 1 },
        template: { spec: { runStrategy: 'Manual', template: { spec: { domain: {} } } } },
      },
      'spec: standby is for VMs that start by themselves: template.spec.runStrategy must be Always, RerunOnFailure or Once',
    ],
    [
      'a field of nowhere',
      { colour: 'red' },
      'spec.colour: unknown field; known are replicas, template, maxUnavailable, maxSurge, nameGeneration, updateStrategy, scaleInStrategy, vmRolloutStrategy, rollout, autohealing, drain, standby, revisionHistoryLimit, paused and selector',
    ],
  ])('%s', (_, fields, message) => {
    expect(messagesOf(withFields(fields))).toEqual([message]);
  });

  it.each<[string, object, string]>([
    [
      'no VMI template',
      { runStrategy: 'Always' },
      'spec.template.spec.template: is missing: it must be the template of the VirtualMachineInstance, whose spec holds domain and volumes',
    ],
    [
      'two ways to run',
      { running: true, runStrategy: 'Always', template: {} },
      'spec.template.spec: must hold either runStrategy or the older running',
    ],
    [
      'a field that KubeVirt has removed',
      { running: true, template: {}, liveUpdateFeatures: { cpu: { maxSockets: 8 } } },
      `spec.template.spec.liveUpdateFeatures: ${LIVE_UPDATE_FEATURES}`,
    ],
    ['no way to run', { template: {} }, 'spec.template.spec: must hold either runStrategy or the older running'],
    [
      'a disk without a name',
      { running: true, template: {}, dataVolumeTemplates: [{ metadata: {} }] },
      'spec.template.spec.dataVolumeTemplates[0].metadata.name: is missing: it must be text',
    ],
    [
      'a disk whose claim would have a name that is too long',
      { running: true, template: {}, dataVolumeTemplates: [{ metadata: { name: 'd'.repeat(248) } }] },
      'spec.template.spec.dataVolumeTemplates[0].metadata.name: must have at most 247 characters, found the text "' +
        `${'d'.repeat(60)}…"`,
    ],
  ])('%s in the VM template', (_, spec, message) => {
    expect(messagesOf(withFields({ template: { spec } }))).toEqual([message]);
  });

  it.each([
    ['A.b', 'with a letter or digit at both ends'],
    ['a'.repeat(58), 'at most 57'],
    ['-a', 'with a letter or digit at both ends'],
  ])('the name %s', (name, words) => {
    const [message, ...others] = messagesOf(stringify({ ...barePool(), metadata: { name } }));
    expect(others).toEqual([]);
    expect(message).toContain(words);
  });

  it('a name of its own for each VM is required', () => {
    const text = stringify({ ...barePool(), metadata: { generateName: 'web-' } });
    expect(messagesOf(text)).toContain(
      'metadata.generateName: a pool is applied by its name: write metadata.name instead',
    );
    const named = withFields({ template: { ...barePool().spec.template, metadata: { name: 'vm' } } });
    expect(messagesOf(named)).toEqual([
      'spec.template.metadata.name: the pool names its VMs <pool>-1, <pool>-2, …: remove this',
    ]);
  });

  it('labels that YAML reads as another type are refused', () => {
    const labels = '{a: yes, b: 12, "c d": x}';
    expect(
      messagesOf(`${stringify(barePool())}status: {}\n`.replace('  name: web', `  name: web\n  labels: ${labels}`)),
    ).toEqual([
      'metadata.labels.a: must be text, found true (written yes): put it in quotes',
      'metadata.labels.b: must be text, found 12: put it in quotes',
      'metadata.labels["c d"]: must be a label key such as app or example.com/app',
    ]);
  });
});

describe('many documents', () => {
  const secret = 'apiVersion: v1\nkind: Secret\nmetadata: {name: s}\n';

  it('are read in their order, with their lines', () => {
    const one = stringify(barePool());
    const other = stringify({ ...barePool(), metadata: { name: 'db' } });
    const manifests = parseManifests(`# two pools\n---\n${one}---\n# nothing\n---\n${other}`, 'x');
    expect(manifests.map(({ object, document, line }) => [object.metadata.name, document, line])).toEqual([
      ['web', 1, 3],
      ['db', 2, 3 + one.split('\n').length - 1 + 3],
    ]);
  });

  it('are refused with all faults of each', () => {
    const text = `${secret}---\n${withFields({ replicas: -1, paused: 1 })}---\nkind: b\nkind: c\n---\n- 1\n`;
    expect(problemsOf(text).map(({ document, path }) => [document, path])).toEqual([
      [1, 'kind'],
      [2, 'spec.replicas'],
      [2, 'spec.paused'],
      [3, ''],
      [4, ''],
    ]);
  });

  it('hold a pool once, whichever file it is in', () => {
    const text = stringify(barePool());
    const files = [
      { text, source: 'a.yaml' },
      { text: `---\n${text}`, source: 'b.yaml' },
    ];
    expect(() => readManifests(files)).toThrow(
      'b.yaml:2 (document 1): metadata.name: the VirtualMachinePool web appears twice: first at a.yaml:1',
    );
  });

  it('are each named with their file in one line', () => {
    const text = withFields({ replica: 1, replicas: undefined, paused: 3 });
    expect(() => parseManifests(text, 'dir/web.yaml')).toThrow(
      new ManifestErrors(problemsOf(text).map((problem) => ({ ...problem, source: 'dir/web.yaml' }))),
    );
    expect(String(new ManifestErrors(problemsOf(text))).split('\n')).toHaveLength(2);
  });
});

describe('kinds', () => {
  it.each([
    [
      'v1',
      'Secret',
      'kind: drover applies VirtualMachinePools, VirtualMachineReplicaSets, VirtualMachineInstanceReplicaSets, VirtualMachineDisruptionBudgets and ClusterVirtualMachineDisruptionBudgets, not Secret (v1): use kubectl apply for it',
    ],
    [
      'drover.dev/v1',
      'VirtualMachinePool',
      'apiVersion: VirtualMachinePool is not known in drover.dev/v1; did you mean drover.dev/v1alpha1?',
    ],
    [
      'pool.kubevirt.io/v1',
      'VirtualMachinePool',
      'apiVersion: VirtualMachinePool is not known in pool.kubevirt.io/v1; did you mean pool.kubevirt.io/v1beta1?',
    ],
    [
      'drover.dev/v1alpha1',
      'VirtualMachinepools',
      'kind: VirtualMachinepools is not known; did you mean VirtualMachinePool?',
    ],
  ])('%s %s', (apiVersion, kind, message) => {
    expect(messagesOf(stringify({ apiVersion, kind }))).toEqual([message]);
  });

  it('are required', () => {
    expect(messagesOf('metadata: {name: a}')).toEqual([
      'apiVersion: is missing: drover applies objects of apiVersion drover.dev/v1alpha1',
      'kind: is missing: drover applies objects of kind VirtualMachinePool, VirtualMachineReplicaSet, VirtualMachineInstanceReplicaSet, VirtualMachineDisruptionBudget or ClusterVirtualMachineDisruptionBudget',
    ]);
  });
});

const notesOf = (volumes: object[], spec: object = {}, replicas = 2): string[] => {
  const pool = barePool({
    replicas,
    template: { spec: { runStrategy: 'Always', template: { spec: { volumes } }, ...spec } },
  });
  return only(parseManifests(stringify(pool), 'x')).notes;
};

describe('notes on the VM template', () => {
  const claim = { name: 'data', persistentVolumeClaim: { claimName: 'shared' } };

  it('say that VMs share a disk', () => {
    const note =
      'spec.template.spec.template.spec.volumes[0]: all VMs of the pool share the disk shared: a dataVolumeTemplate gives each its own';
    expect(notesOf([claim])).toEqual([note]);
    expect(notesOf([{ name: 'data', dataVolume: { name: 'shared' } }])).toEqual([note]);
    expect(notesOf([claim], {}, 1)).toEqual([]);
    expect(notesOf([{ ...claim, persistentVolumeClaim: { claimName: 'shared', readOnly: true } }])).toEqual([]);
    expect(notesOf([claim], { dataVolumeTemplates: [{ metadata: { name: 'shared' } }] })).toEqual([]);
  });

  it('say where a reboot inside the guest ends the VM for good', () => {
    const template = { spec: { domain: { rebootPolicy: 'Terminate' } } };
    const note =
      'spec.template.spec.template.spec.domain.rebootPolicy: under Terminate a reboot inside the guest ends the VMI, and only runStrategy Always starts it again';
    expect(notesOf([], { template })).toEqual([]);
    expect(notesOf([], { template, runStrategy: 'RerunOnFailure' })).toEqual([note]);
    expect(notesOf([], { template: { spec: { domain: {} } }, runStrategy: 'RerunOnFailure' })).toEqual([]);
  });

  it('say that new disks may have another image than the disks that exist', () => {
    const disk = { metadata: { name: 'root' }, spec: { sourceRef: { kind: 'DataSource', name: 'fedora' } } };
    expect(notesOf([{ name: 'root', dataVolume: { name: 'root' } }], { dataVolumeTemplates: [disk] })).toEqual([
      'spec.template.spec.dataVolumeTemplates[0]: the DataSource fedora names the image when a disk is made: if it changes, new VMs differ from the VMs that exist, without a rollout',
    ]);
    const pinned = { ...disk, spec: { source: { registry: { url: 'docker://example/fedora@sha256:0' } } } };
    expect(notesOf([{ name: 'root', dataVolume: { name: 'root' } }], { dataVolumeTemplates: [pinned] })).toEqual([]);
  });
});

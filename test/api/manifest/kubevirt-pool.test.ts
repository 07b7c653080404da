import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { ManifestErrors, parseManifests, type Manifest } from '../../../api/manifest/manifest.ts';
import { VirtualMachinePool } from '../../../api/pool/pool.ts';
import { labels, name, template } from '../pools.ts';

type Pool = Manifest & { object: VirtualMachinePool };

const vmTemplate = {
  metadata: { creationTimestamp: null, name: 'vm', labels: { app: 'web' } },
  spec: { runStrategy: 'Always', template: { metadata: { creationTimestamp: null }, spec: { domain: {} } } },
};
const kubevirtPool = (spec: object = {}, version = 'v1beta1'): object => ({
  apiVersion: `pool.kubevirt.io/${version}`,
  kind: 'VirtualMachinePool',
  metadata: { name: 'web' },
  spec: { selector: { matchLabels: { app: 'web' } }, virtualMachineTemplate: vmTemplate, ...spec },
});
const read = (pool: object): Pool => parseManifests(stringify(pool), 'pool.yaml')[0] as Pool;
const messagesOf = (pool: object): string[] => {
  try {
    read(pool);
  } catch (error) {
    if (error instanceof ManifestErrors) return error.problems.map(({ path, message }) => `${path}: ${message}`);
    throw error;
  }
  return [];
};

describe("KubeVirt's own pool", () => {
  it("becomes one of drover's, with KubeVirt's defaults written out, and says so", () => {
    const { object, notes } = read(kubevirtPool());
    expect(object).toEqual({
      apiVersion: 'drover.dev/v1alpha1',
      kind: 'VirtualMachinePool',
      metadata: { name: 'web' },
      spec: {
        replicas: 1,
        maxUnavailable: '100%',
        selector: { matchLabels: { app: 'web' } },
        template: { metadata: { labels: { app: 'web' } }, spec: vmTemplate.spec },
      },
    });
    expect(notes).toEqual([
      'pool.kubevirt.io/v1beta1 is read as drover.dev/v1alpha1: a drover pool, in addition to any KubeVirt pool of that name and its VMs',
      'VMs are named from web-1 on; KubeVirt counts from 0',
      'spec.virtualMachineTemplate.metadata: name and namespace are left out: the pool names its VMs',
      "spec.replicas: 1, KubeVirt's default, is written out",
      "spec.maxUnavailable: 100%, KubeVirt's default, is written out; drover's own is 25%",
    ]);
  });

  it('keeps its content under other names', () => {
    const { object, notes } = read(
      kubevirtPool(
        {
          replicas: 5,
          maxUnavailable: 2,
          paused: true,
          nameGeneration: { appendIndexToSecretRefs: true, appendIndexToConfigMapRefs: false },
          autohealing: { startUpFailureThreshold: 4, minFailingToStartDuration: '5m0s' },
          updateStrategy: { proactive: { selectionPolicy: { sortPolicy: 'DescendingOrder' } } },
          scaleInStrategy: {
            proactive: {
              statePreservation: 'Online',
              selectionPolicy: { sortPolicy: 'Oldest', selectors: { labelSelector: { matchLabels: { tier: 'old' } } } },
            },
          },
        },
        'v1alpha1',
      ),
    );
    expect(object.spec).toMatchObject({
      replicas: 5,
      maxUnavailable: 2,
      paused: true,
      nameGeneration: { appendPostfixToSecretReferences: true, appendPostfixToConfigMapReferences: false },
      autohealing: { startupFailureThreshold: 4, minFailingToStartDuration: '5m0s' },
      updateStrategy: { proactive: { selectionPolicy: { basePolicy: 'HighestNumber' } } },
      scaleInStrategy: {
        proactive: {
          statePreservation: 'Offline',
          selectionPolicy: {
            basePolicy: 'Oldest',
            orderedPolicies: [{ labelSelector: { matchLabels: { tier: 'old' } } }],
          },
        },
      },
    });
    expect(notes).toEqual(
      expect.arrayContaining([
        'spec.paused: only updates pause; in KubeVirt scaling does too',
        'spec.autohealing: a VM that waits for a node, an image or a claim is not replaced, however long; in KubeVirt it is',
        "spec.autohealing: a VM that has run well keeps its disks when it is replaced, which KubeVirt deletes; drover's own preserveStorage: false gives them up",
        'spec.scaleInStrategy: VMs that match its selectors come first; KubeVirt never takes any others',
        'spec.scaleInStrategy: Online is read as Offline, which is how KubeVirt treats it',
      ]),
    );
    expect(notes.filter((note) => note.includes('written out'))).toEqual([]);
  });

  it.each([
    ['AscendingOrder', 'LowestNumber'],
    ['DescendingOrder', 'HighestNumber'],
    ['Random', 'Random'],
  ])('reads the order %s as %s', (sortPolicy, basePolicy) => {
    const { object } = read(kubevirtPool({ scaleInStrategy: { proactive: { selectionPolicy: { sortPolicy } } } }));
    expect(object.spec.scaleInStrategy?.proactive?.selectionPolicy).toEqual({ basePolicy });
  });

  it('keeps every part of a label selector', () => {
    const labelSelector = {
      matchLabels: { tier: 'old' },
      matchExpressions: [
        { key: 'zone', operator: 'In', values: ['a', 'b'] },
        { key: 'keep', operator: 'DoesNotExist' },
      ],
    };
    const selectionPolicy = { sortPolicy: 'Newest', selectors: { labelSelector } };
    const { object, notes } = read(
      kubevirtPool({
        updateStrategy: { proactive: { selectionPolicy } },
        scaleInStrategy: { proactive: { selectionPolicy } },
      }),
    );
    const converted = { basePolicy: 'Newest', orderedPolicies: [{ labelSelector }] };
    expect(object.spec.updateStrategy).toEqual({ proactive: { selectionPolicy: converted } });
    expect(object.spec.scaleInStrategy).toEqual({ proactive: { selectionPolicy: converted } });
    for (const where of ['updateStrategy', 'scaleInStrategy'])
      expect(notes).toContain(
        `spec.${where}: VMs that match its selectors come first; KubeVirt never takes any others`,
      );
  });

  it('keeps its selectors of nodes, beside those of labels', () => {
    const expression = { key: 'rack', operator: 'In', values: ['r7'] };
    const labelSelector = { matchLabels: { tier: 'old' } };
    const { object } = read(
      kubevirtPool({
        updateStrategy: {
          proactive: { selectionPolicy: { selectors: { nodeSelectorRequirementMatcher: [expression] } } },
        },
        scaleInStrategy: {
          proactive: {
            selectionPolicy: { selectors: { labelSelector, nodeSelectorRequirementMatcher: [expression] } },
          },
        },
      }),
    );
    const nodeSelector = { matchExpressions: [expression] };
    expect(object.spec.updateStrategy?.proactive?.selectionPolicy).toEqual({ orderedPolicies: [{ nodeSelector }] });
    expect(object.spec.scaleInStrategy?.proactive?.selectionPolicy).toEqual({
      orderedPolicies: [{ labelSelector, nodeSelector }],
    });
  });

  it('reports that opportunistic scale-in removes halted VMs', () => {
    const { notes } = read(kubevirtPool({ scaleInStrategy: { opportunistic: {} } }));
    expect(notes).toContain(
      'spec.scaleInStrategy: opportunistic removes VMs that are halted; in KubeVirt it removes none by itself',
    );
  });

  it.each([{ unmanaged: {} }, { opportunistic: {} }, { proactive: {} }])('keeps the strategy %j', (strategy) => {
    const { object } = read(kubevirtPool({ updateStrategy: strategy, scaleInStrategy: strategy }));
    expect(object.spec).toMatchObject({ updateStrategy: strategy, scaleInStrategy: strategy });
  });

  it('reports where healing and the replacement of disks differ', () => {
    const spec = { ...vmTemplate.spec, dataVolumeTemplates: [{ metadata: { name: 'd' } }] };
    const { notes } = read(kubevirtPool({ autohealing: {}, virtualMachineTemplate: { ...vmTemplate, spec } }));
    expect(notes).toContain(
      "spec.autohealing: VMs are healed by failed starts alone; KubeVirt's 5m of failing counts only if it is set",
    );
    expect(notes).toContain(
      'spec.updateStrategy: a change of dataVolumeTemplates replaces VMs only under proactive.disruption: Replace; in KubeVirt always',
    );
  });

  it.each<[object, string]>([
    [{ selector: undefined }, 'spec.selector: is missing: it must be an object (lines of "key: value")'],
    [
      { selector: { matchLabels: { app: 'db' } } },
      'spec.selector: must match the labels of virtualMachineTemplate.metadata',
    ],
    [{ replica: 3 }, 'spec.replica: unknown field; did you mean replicas?'],
    [
      { template: {} },
      'spec.template: unknown field in pool.kubevirt.io, which calls it virtualMachineTemplate; or write apiVersion: drover.dev/v1alpha1',
    ],
    [
      { maxUnavailable: '101%' },
      'spec.maxUnavailable: must be a whole number of at least 1, or a percentage from "1%" to "100%", found the text "101%"',
    ],
    [
      { virtualMachineTemplate: { ...vmTemplate, spec: { ...vmTemplate.spec, liveUpdateFeatures: { cpu: {} } } } },
      "spec.virtualMachineTemplate.spec.liveUpdateFeatures: KubeVirt no longer has liveUpdateFeatures: write cpu.maxSockets and memory.maxGuest in the VM's spec.template.spec.domain, and vmRolloutStrategy: LiveUpdate in the KubeVirt object or in the pool",
    ],
    [
      {
        updateStrategy: {
          proactive: {
            selectionPolicy: {
              selectors: { nodeSelectorRequirementMatcher: [{ key: 'disk', operator: 'Gt', values: ['2'] }] },
            },
          },
        },
      },
      'spec.updateStrategy.proactive.selectionPolicy.selectors.nodeSelectorRequirementMatcher[0].operator: drover compares no numbers: list the values, with the operator In',
    ],
  ])('is refused with %j', (spec, message) => {
    expect(messagesOf(kubevirtPool(spec))).toEqual([message]);
  });

  it('loses no field of its template, and is always a valid pool', () => {
    const selection = fc.record(
      {
        sortPolicy: fc.constantFrom('AscendingOrder', 'DescendingOrder', 'Newest', 'Oldest', 'Random'),
        selectors: fc.record({ labelSelector: fc.record({ matchLabels: labels }) }, { requiredKeys: [] }),
      },
      { requiredKeys: [] },
    );
    const preserved = { statePreservation: fc.constantFrom('Disabled', 'Offline', 'Online') };
    const unmanaged = fc.constant({ unmanaged: {} });
    const spec = fc.record(
      {
        replicas: fc.nat(99_999),
        maxUnavailable: fc.oneof(
          fc.integer({ min: 1, max: 500 }),
          fc.integer({ min: 1, max: 100 }).map((n) => `${n}%`),
        ),
        paused: fc.boolean(),
        nameGeneration: fc.record(
          { appendIndexToSecretRefs: fc.boolean(), appendIndexToConfigMapRefs: fc.boolean() },
          { requiredKeys: [] },
        ),
        updateStrategy: fc.oneof(
          unmanaged,
          fc.record({ proactive: fc.record({ selectionPolicy: selection }, { requiredKeys: [] }) }),
        ),
        scaleInStrategy: fc.oneof(
          unmanaged,
          fc.record({ opportunistic: fc.record(preserved, { requiredKeys: [] }) }),
          fc.record({ proactive: fc.record({ selectionPolicy: selection, ...preserved }, { requiredKeys: [] }) }),
        ),
        autohealing: fc.record({ startUpFailureThreshold: fc.integer({ min: 1, max: 9 }) }, { requiredKeys: [] }),
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(spec, template, name, (spec, template, name) => {
        const pool = {
          ...kubevirtPool({ ...spec, selector: {}, virtualMachineTemplate: template }),
          metadata: { name },
        };
        const { object } = parseManifests(JSON.stringify(pool), 'x')[0]!;
        expect(object.spec).toHaveProperty('template', template);
        expect(VirtualMachinePool.safeParse(object).error?.issues).toBeUndefined();
      }),
    );
  });
});

import type { Disruption } from '../../api/pool/pool.ts';
import { canonical } from '../lib/canonical-json.ts';
import { asObject, field, isObject, type Json } from '../lib/json.ts';
import { diskDisruption } from '../template/disk-template.ts';
import { normalForm } from '../template/normal-form.ts';
import { volumesOf } from '../template/references.ts';
import type { PoolTemplate } from '../template/template.ts';
import { powerOf } from '../views/power.ts';
import { pluggedBetween, withoutPlugged, type Plugged } from './pluggable.ts';
import { startAnnotations } from './pod-part.ts';

/** From least to most disruptive. */
export const DISRUPTIONS: readonly Disruption[] = ['None', 'Live', 'Restart', 'Replace'];

export const exceeds = (disruption: Disruption, limit: Disruption): boolean =>
  DISRUPTIONS.indexOf(disruption) > DISRUPTIONS.indexOf(limit);

/** What KubeVirt does to running VMIs, in addition to its VM rollout strategy. */
export interface KubeVirtPlugs {
  /** It migrates VMIs by itself for sockets, memory and interfaces, which it plugs in no other way. */
  migrates: boolean;
  /** It plugs volumes that are marked as hotpluggable. */
  volumes: boolean;
}

export const PLUGS_ALL: KubeVirtPlugs = { migrates: true, volumes: true };

/** Fields of a VirtualMachine's spec that don't affect a running VMI. */
const BESIDE_THE_GUEST = new Set([
  'template',
  'dataVolumeTemplates',
  'running',
  'runStrategy',
  'updateVolumesStrategy',
]);

interface Part {
  of: (template: PoolTemplate, plugged: Plugged) => unknown;
  disruptionWith: (plugs: KubeVirtPlugs) => Disruption;
  /** A VMI gets it where it runs, or with its next pod: KubeVirt does not migrate it for that. */
  isInPlace?: true;
}

/**
 * The parts of a template, by what it takes for a running VMI to get a change of them. KubeVirt's own rules are in its
 * `syncRestartRequired`, `handleCPUChangeRequest`, `handleMemoryHotplugRequest`, `handleAffinityChangeRequest`,
 * `handleTolerationsChangeRequest`, `HandleDeclarativeVolumes`, and in its network controller's `IsRestartRequired`.
 */
const PARTS: readonly Part[] = [
  { of: fixed, disruptionWith: () => 'Restart' },
  { of: startAnnotations, disruptionWith: () => 'Restart' },
  { of: sizes, disruptionWith: ({ migrates }) => (migrates ? 'Live' : 'Restart') },
  { of: placement, disruptionWith: () => 'Live', isInPlace: true },
  {
    of: (template, { interfaces }) => namedIn(template, interfaces, ['interfaces', 'networks']),
    disruptionWith: ({ migrates }) => (migrates ? 'Live' : 'Restart'),
  },
  {
    of: (template, { volumes }) => namedIn(template, volumes, ['disks', 'volumes']),
    disruptionWith: ({ volumes }) => (volumes ? 'Live' : 'Restart'),
    isInPlace: true,
  },
];

/**
 * Returns what a VMI started from `before` needs to run `after`, under the cluster's rollout strategy. Ignores the run
 * strategy: KubeVirt starts or stops a VM by that field alone (`startsOrStops`). Labels and annotations alone are
 * `None`: drover writes them to the VMI itself; and so is the same template in another spelling. Instance types and
 * preferences count by their content only if the templates have that in their place.
 */
export function disruptionBetween(
  before: PoolTemplate,
  after: PoolTemplate,
  strategy: 'Stage' | 'LiveUpdate',
  plugs: KubeVirtPlugs = PLUGS_ALL,
): Disruption {
  const [from, to] = [normalForm(before), normalForm(after)];
  const plugged = pluggedBetween(from.spec, to.spec);
  const disks = diskDisruption(from, to, plugged.disks);
  if (disks === 'Replace') return 'Replace';
  const required = partsBetween(from, to, plugged).map(({ disruptionWith }) => disruptionWith(plugs));
  // A claim grows under a running VMI whatever the strategy, which concerns the VMI template only.
  if (required.length === 0) return disks;
  const isLive = strategy === 'LiveUpdate' && !required.includes('Restart') && !removesField(from, to);
  return isLive && !exceeds(disks, 'Live') ? 'Live' : 'Restart';
}

const partsBetween = (from: PoolTemplate, to: PoolTemplate, plugged: Plugged): Part[] =>
  PARTS.filter(({ of }) => canonical(of(from, plugged)) !== canonical(of(to, plugged)));

/**
 * Reports whether KubeVirt may migrate a running VMI for a change that is `Live`: its workload updater does for
 * sockets, memory and interfaces. An instance type may stand for them.
 */
export function mayMigrateFor(before: PoolTemplate, after: PoolTemplate): boolean {
  const [from, to] = [normalForm(before), normalForm(after)];
  return partsBetween(from, to, pluggedBetween(from.spec, to.spec)).some(({ isInPlace }) => isInPlace !== true);
}

/** Reports whether the change alone makes KubeVirt start or stop VMIs. */
export const startsOrStops = (from: PoolTemplate, to: PoolTemplate): boolean => powerOf(from.spec) !== powerOf(to.spec);

/**
 * Reports whether writing the new spec leaves the running VMI alone until the next VMI takes it: the change needs a
 * restart, and contains nothing that KubeVirt plugs into or out of running VMIs whatever the cluster's strategy, nor an
 * instance type whose content may be all that changes.
 */
export const waitsForRestart = (from: PoolTemplate, to: PoolTemplate, strategy: 'Stage' | 'LiveUpdate'): boolean =>
  disruptionBetween(from, to, strategy) === 'Restart' &&
  !startsOrStops(from, to) &&
  !isAppliedAtOnce(from, to) &&
  (strategy === 'Stage' || isKnown(from, to) || disruptionBetween(plain(from), plain(to), strategy) === 'Restart');

/** Reports whether KubeVirt plugs something for the change, or copies volumes to other claims, in any case. */
export function isAppliedAtOnce(before: PoolTemplate, after: PoolTemplate): boolean {
  const [from, to] = [normalForm(before), normalForm(after)];
  const { interfaces, volumes } = pluggedBetween(from.spec, to.spec);
  const copies = to.spec['updateVolumesStrategy'] === 'Migration' && !hasSameClaims(from, to);
  return interfaces.size + volumes.size > 0 || copies;
}

/** Reports whether the volumes that have a claim are the same, and so are the VM's own disks. */
export const hasSameClaims = (from: PoolTemplate, to: PoolTemplate): boolean =>
  [from, to]
    .map(normalForm)
    .map((one) => canonical([claims(one), one.spec['dataVolumeTemplates']]))
    .every((one, _, all) => one === all[0]);

const claims = ({ spec }: PoolTemplate): Json[] => volumesOf(spec).filter(hasClaim);

const hasClaim = (volume: unknown): boolean =>
  field(volume, 'persistentVolumeClaim') !== undefined || field(volume, 'dataVolume') !== undefined;

const isKnown = ({ spec: from }: PoolTemplate, { spec: to }: PoolTemplate): boolean =>
  canonical([from['instancetype'] ?? null, from['preference'] ?? null]) ===
  canonical([to['instancetype'] ?? null, to['preference'] ?? null]);

const plain = (template: PoolTemplate): PoolTemplate => ({
  ...template,
  spec: { ...template.spec, instancetype: undefined, preference: undefined },
});

const vmiSpec = ({ spec }: PoolTemplate): Json => asObject(field(spec, 'template', 'spec'));

/** Sockets and memory. */
function sizes(template: PoolTemplate): Json {
  const { domain } = vmiSpec(template);
  return { sockets: field(domain, 'cpu', 'sockets'), guest: field(domain, 'memory', 'guest') };
}

/** Where the VMI may run: KubeVirt writes it to the VMI, and the next pod of that follows it. */
function placement(template: PoolTemplate): Json {
  const { nodeSelector, affinity, tolerations } = vmiSpec(template);
  return { nodeSelector, affinity, tolerations };
}

/** The items of these names, from the lists of the VMI's spec and of its devices. */
function namedIn(template: PoolTemplate, names: ReadonlySet<string>, lists: readonly string[]): unknown {
  const spec = vmiSpec(template);
  const devices = asObject(field(spec['domain'], 'devices'));
  return lists.map((list) => {
    const items = spec[list] ?? devices[list];
    return Array.isArray(items) ? items.filter((item: unknown) => names.has(String(field(item, 'name')))) : [];
  });
}

/** Everything that a VMI takes only when it starts. */
function fixed(template: PoolTemplate, plugged: Plugged): Json {
  const {
    nodeSelector: _nodeSelector,
    affinity: _affinity,
    tolerations: _tolerations,
    domain,
    ...rest
  } = withoutPlugged(vmiSpec(template), plugged);
  const { cpu, memory, ...devices } = asObject(domain);
  const { guest: _guest, ...otherMemory } = asObject(memory);
  const others = Object.entries(template.spec).filter(([key]) => !BESIDE_THE_GUEST.has(key));
  // KubeVirt hotplugs sockets only if there was a `cpu` to begin with, but memory in any case.
  return {
    vm: Object.fromEntries(others),
    rest,
    devices,
    cpu: withoutSockets(cpu),
    memory: otherMemory,
    nameGeneration: template.nameGeneration,
  };
}

function withoutSockets(cpu: unknown): unknown {
  if (!isObject(cpu)) return undefined;
  const { sockets: _sockets, ...rest } = cpu;
  return rest;
}

/** If the field is unset, the VMI gets KubeVirt's default, and only when it starts. */
const removesField = (from: PoolTemplate, to: PoolTemplate): boolean =>
  [
    ['cpu', 'sockets'],
    ['memory', 'guest'],
  ].some(
    (path) =>
      field(vmiSpec(from), 'domain', ...path) !== undefined && field(vmiSpec(to), 'domain', ...path) === undefined,
  );

import { RESTARTED_AT_ANNOTATION } from '../../api/names.ts';
import type { Disruption } from '../../api/pool/pool.ts';
import { diskDisruption } from '../disks/disk-template.ts';
import { canonical } from '../lib/canonical-json.ts';
import { field, isObject, type Json } from '../lib/json.ts';
import { amountOf } from '../lib/quantity.ts';
import type { PoolTemplate } from '../template/template.ts';
import { powerOf } from '../views/run-strategy.ts';

/** From least to most disruptive. */
export const DISRUPTIONS: readonly Disruption[] = ['None', 'Live', 'Restart', 'Replace'];

export const exceeds = (disruption: Disruption, limit: Disruption): boolean =>
  DISRUPTIONS.indexOf(disruption) > DISRUPTIONS.indexOf(limit);

/** Fields of a VirtualMachine's spec that don't affect a running VMI. */
const BESIDE_THE_GUEST = new Set([
  'template',
  'dataVolumeTemplates',
  'running',
  'runStrategy',
  'updateVolumesStrategy',
]);

/**
 * Returns what a VMI started from `from` needs to run `to`, under the cluster's rollout strategy. Ignores the run
 * strategy: KubeVirt starts or stops a VM by that field alone (`startsOrStops`).
 */
export function disruptionBetween(from: PoolTemplate, to: PoolTemplate, strategy: 'Stage' | 'LiveUpdate'): Disruption {
  const differs = (part: (template: PoolTemplate) => unknown): boolean => canonical(part(from)) !== canonical(part(to));
  const disks = diskDisruption(from, to);
  if (disks === 'Replace') return 'Replace';
  if (disks === 'Restart' || differs(fixed) || differs(restartedAt)) return 'Restart';
  // A claim grows under a running VMI whatever the strategy, which concerns the VMI template only.
  if (!differs(live)) return disks;
  return strategy === 'Stage' || takesAway(from, to) ? 'Restart' : 'Live';
}

/** Reports whether the change alone makes KubeVirt start or stop VMIs. */
export const startsOrStops = (from: PoolTemplate, to: PoolTemplate): boolean => powerOf(from.spec) !== powerOf(to.spec);

/**
 * Reports whether writing the new spec leaves the running VMI alone until the next VMI takes it: the change needs a
 * restart, and contains nothing that KubeVirt plugs into or out of running VMIs whatever the cluster's strategy.
 */
export const waitsForRestart = (from: PoolTemplate, to: PoolTemplate, strategy: 'Stage' | 'LiveUpdate'): boolean =>
  disruptionBetween(from, to, strategy) === 'Restart' &&
  !startsOrStops(from, to) &&
  canonical(pluggable(from)) === canonical(pluggable(to));

/**
 * What KubeVirt hotplugs into or out of a running VMI. It hotplugs volumes that have a claim; of the others only the
 * names count.
 */
function pluggable(template: PoolTemplate): Json {
  const { volumes, networks, domain } = vmiSpec(template);
  const plugs = Array.isArray(volumes)
    ? volumes.map((volume: unknown) => (hasClaim(volume) ? volume : field(volume, 'name')))
    : volumes;
  const { disks, filesystems, interfaces } = asObject(field(domain, 'devices'));
  const { dataVolumeTemplates, updateVolumesStrategy } = template.spec;
  return { plugs, networks, disks, filesystems, interfaces, dataVolumeTemplates, updateVolumesStrategy };
}

const hasClaim = (volume: unknown): boolean =>
  field(volume, 'persistentVolumeClaim') !== undefined || field(volume, 'dataVolume') !== undefined;

const restartedAt = ({ spec }: PoolTemplate): unknown =>
  field(spec, 'template', 'metadata', 'annotations', RESTARTED_AT_ANNOTATION);

const vmiSpec = ({ spec }: PoolTemplate): Json => asObject(field(spec, 'template', 'spec'));
const asObject = (value: unknown): Json => (isObject(value) ? value : {});

/** What KubeVirt can change in a running VMI. Quantities are compared by amount, not by spelling. */
function live(template: PoolTemplate): Json {
  const { nodeSelector, affinity, tolerations, domain } = vmiSpec(template);
  const guest = field(domain, 'memory', 'guest');
  return {
    nodeSelector,
    affinity,
    tolerations,
    sockets: field(domain, 'cpu', 'sockets'),
    guest: amountOf(guest)?.toString() ?? guest,
  };
}

/** Everything that a VMI takes only when it starts. */
function fixed(template: PoolTemplate): Json {
  const {
    nodeSelector: _nodeSelector,
    affinity: _affinity,
    tolerations: _tolerations,
    domain,
    ...rest
  } = vmiSpec(template);
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
const takesAway = (from: PoolTemplate, to: PoolTemplate): boolean =>
  [
    ['cpu', 'sockets'],
    ['memory', 'guest'],
  ].some(
    (path) =>
      field(vmiSpec(from), 'domain', ...path) !== undefined && field(vmiSpec(to), 'domain', ...path) === undefined,
  );

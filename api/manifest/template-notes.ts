import type { PoolSpec, VmTemplate } from '../pool/pool.ts';
import { DEFAULT_ROLLOUT } from '../rules/pool-defaults.ts';
import { isObject, type Json } from './kept-by-server.ts';

/**
 * Notes about what is allowed in a VM's template but probably unintended. `replicas`: undefined if others set how many
 * VMs there are.
 */
export function templateNotes(template: VmTemplate, replicas: number | undefined, owner: 'pool' | 'set'): string[] {
  const { dataVolumeTemplates = [], template: vmi } = template.spec;
  const volumes = listOf(isObject(vmi['spec']) ? vmi['spec']['volumes'] : undefined);
  const ownDisks = dataVolumeTemplates.map(({ metadata }) => metadata.name);
  return [
    ...dataVolumeTemplates.flatMap(movingSource),
    ...rebootNotes(template),
    ...(mayBeMany(replicas) ? sharedDisks(volumes, ownDisks, owner) : []),
  ];
}

/** An autoscaler may make many of what leaves the number out. */
const mayBeMany = (replicas: number | undefined): boolean => replicas === undefined || replicas > 1;

/** A guest that reboots then ends its VMI as one that shuts down does. */
function rebootNotes({ spec: { running, runStrategy, template } }: VmTemplate): string[] {
  const { domain } = template.spec ?? {};
  if (!isObject(domain) || domain['rebootPolicy'] !== 'Terminate') return [];
  return running === true || runStrategy === 'Always'
    ? []
    : [
        'spec.template.spec.template.spec.domain.rebootPolicy: under Terminate a reboot inside the guest ends the VMI, and only runStrategy Always starts it again',
      ];
}

/** A DataSource names another image whenever it is updated, as DataImportCrons do: no revision shows that. */
function movingSource({ spec }: Json, index: number): string[] {
  const source = isObject(spec) ? spec['sourceRef'] : undefined;
  if (!isObject(source)) return [];
  return [
    `spec.template.spec.dataVolumeTemplates[${index}]: the ${String(source['kind'])} ${String(source['name'])} names the image when ` +
      'a disk is made: if it changes, new VMs differ from the VMs that exist, without a rollout',
  ];
}

/** Notes on a restart, for the sake of new cloud-init data, that guests would not notice. */
export function configChangeNotes({ rollout, template }: PoolSpec): string[] {
  if (rollout?.onConfigChange !== 'Restart') return [];
  const { spec } = template.spec.template;
  const volumes = listOf(isObject(spec) ? spec['volumes'] : undefined);
  if (!volumes.some((volume) => diskOf(volume) !== undefined)) return [];
  return volumes.flatMap((volume, index) => {
    const init = volume['cloudInitNoCloud'] ?? volume['cloudInitConfigDrive'];
    const isRead = isObject(init) && (isObject(init['secretRef']) || isObject(init['networkDataSecretRef']));
    if (!isRead) return [];
    return [
      `spec.template.spec.template.spec.volumes[${index}]: cloud-init runs once on a persistent disk: ` +
        'rollout.onConfigChange: Restart restarts VMs for a change that their guests do not apply',
    ];
  });
}

/** Returns a note if no VM can be available in time, however fast its guest boots. */
export function deadlineNotes({ rollout, template }: PoolSpec): string[] {
  const { minReadySeconds, progressDeadlineSeconds } = { ...DEFAULT_ROLLOUT, ...rollout };
  const { spec } = template.spec.template;
  const probe = isObject(spec) ? spec['readinessProbe'] : undefined;
  const delay = isObject(probe) && typeof probe['initialDelaySeconds'] === 'number' ? probe['initialDelaySeconds'] : 0;
  if (minReadySeconds + delay < progressDeadlineSeconds) return [];
  const parts = [
    ...(delay === 0 ? [] : [`its readinessProbe waits ${delay} s`]),
    ...(minReadySeconds === 0 ? [] : [`spec.rollout.minReadySeconds is ${minReadySeconds}`]),
  ];
  return [
    `spec.rollout.progressDeadlineSeconds: a VM can't be available within ${progressDeadlineSeconds} s, since ` +
      `${parts.join(' and ')}: every update would fail`,
  ];
}

const sharedDisks = (volumes: readonly Json[], ownDisks: readonly string[], owner: 'pool' | 'set'): string[] =>
  volumes.flatMap((volume, index) => {
    const disk = diskOf(volume);
    if (disk === undefined || ownDisks.includes(disk) || isReadOnly(volume)) return [];
    return [
      `spec.template.spec.template.spec.volumes[${index}]: all VMs of the ${owner} share the disk ${disk}: ` +
        'a dataVolumeTemplate gives each its own',
    ];
  });

const diskOf = ({ dataVolume, persistentVolumeClaim }: Json): string | undefined => {
  const claim = isObject(persistentVolumeClaim) ? persistentVolumeClaim['claimName'] : undefined;
  const name = isObject(dataVolume) ? dataVolume['name'] : claim;
  return typeof name === 'string' ? name : undefined;
};

const isReadOnly = ({ persistentVolumeClaim }: Json): boolean =>
  isObject(persistentVolumeClaim) && persistentVolumeClaim['readOnly'] === true;

const listOf = (value: unknown): Json[] => (Array.isArray(value) ? value.filter(isObject) : []);

/** `who`: what deletes them. */
export const healedDisksNote = (who: string): string =>
  `spec.autohealing: a VM that has run well keeps its disks when it is replaced, which ${who} deletes; drover's own preserveStorage: false gives them up`;

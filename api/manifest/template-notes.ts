import type { VmTemplate } from '../pool/pool.ts';
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

import type { VmTemplate } from '../pool/pool.ts';
import { isObject, type Json } from './kept-by-server.ts';

const RUN_STRATEGIES = ['Always', 'RerunOnFailure', 'Manual', 'Halted', 'Once', 'WaitAsReceiver'];

/**
 * Notes about what is allowed in a VM's template but probably unintended. `replicas`: undefined if others set how many
 * VMs there are.
 */
export function templateNotes(template: VmTemplate, replicas: number | undefined, owner: 'pool' | 'set'): string[] {
  const { runStrategy, dataVolumeTemplates = [], template: vmi } = template.spec;
  const volumes = listOf(isObject(vmi['spec']) ? vmi['spec']['volumes'] : undefined);
  const ownDisks = dataVolumeTemplates.map(({ metadata }) => metadata.name);
  const mounted = new Set(volumes.map(diskOf));
  return [
    ...(runStrategy === undefined || RUN_STRATEGIES.includes(runStrategy)
      ? []
      : [`spec.template.spec.runStrategy: KubeVirt knows ${RUN_STRATEGIES.join(', ')}, and may refuse ${runStrategy}`]),
    ...ownDisks
      .filter((name) => !mounted.has(name))
      .map(
        (name) =>
          `spec.template.spec.dataVolumeTemplates: KubeVirt refuses a VM with no volume for its dataVolumeTemplate ${name}`,
      ),
    ...(replicas === undefined || replicas > 1 ? sharedDisks(volumes, ownDisks, owner) : []),
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

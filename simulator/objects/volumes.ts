import type { VmiSpec, Volume } from './kubevirt.ts';

/** Returns the names of the claims that a VMI's volumes need. A DataVolume's claim has the DataVolume's name. */
export function claimsOf(spec: VmiSpec): string[] {
  const names: string[] = [];
  for (const { persistentVolumeClaim, dataVolume } of spec.volumes ?? []) {
    if (persistentVolumeClaim !== undefined) names.push(persistentVolumeClaim.claimName);
    if (dataVolume !== undefined) names.push(dataVolume.name);
  }
  return names;
}

export const dataVolumesOf = (spec: VmiSpec): string[] =>
  (spec.volumes ?? []).flatMap(({ dataVolume }) => dataVolume?.name ?? []);

/** An object that a VMI's pod mounts, other than a claim. */
interface Source {
  kind: 'Secret' | 'ConfigMap';
  name: string;
}

interface Reference {
  name?: string;
  secretName?: string;
  secretRef?: Reference;
  networkDataSecretRef?: Reference;
  secret?: Reference;
  configMap?: Reference;
  optional?: boolean;
}

/** Returns the Secrets and ConfigMaps that a VMI's volumes require, without the optional ones. */
export const sourcesOf = (spec: VmiSpec): Source[] => (spec.volumes ?? []).flatMap(sourcesOfVolume);

function sourcesOfVolume(volume: Volume): Source[] {
  const sources = volume as Partial<Record<string, Reference>>;
  const { secret, configMap, sysprep } = sources;
  const clouds = [sources['cloudInitNoCloud'], sources['cloudInitConfigDrive']];
  const ofClouds = clouds.flatMap((cloud) => [cloud?.secretRef, cloud?.networkDataSecretRef]);
  const secrets = [secret, sysprep?.secret, ...ofClouds];
  const configMaps = [configMap, sysprep?.configMap];
  return [
    ...secrets.flatMap((one) => sourceIn('Secret', one)),
    ...configMaps.flatMap((one) => sourceIn('ConfigMap', one)),
  ];
}

function sourceIn(kind: Source['kind'], { name, secretName = name, optional }: Reference = {}): Source[] {
  return secretName === undefined || optional === true ? [] : [{ kind, name: secretName }];
}

import { later, type ResourceVersions } from './resource-versions.ts';

interface Read {
  pools: readonly { metadata: { resourceVersion?: string } }[];
  vms: readonly { resourceVersion: string }[];
  vmis: readonly { resourceVersion: string }[];
}

/**
 * Returns the newest resource versions that were read: a cache that has reached them contains everything that was read.
 */
export const versionsIn = ({ pools, vms, vmis }: Read): ResourceVersions => ({
  pools: newest(pools.map(({ metadata }) => metadata.resourceVersion)),
  vms: newest(vms.map(({ resourceVersion }) => resourceVersion)),
  vmis: newest(vmis.map(({ resourceVersion }) => resourceVersion)),
});

const newest = (versions: (string | undefined)[]): string | undefined => versions.reduce(later, undefined);

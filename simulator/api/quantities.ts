/** KubeVirt's message about an invalid quantity. */
const message = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";

const isQuantity = (value: string): string => `isQuantity(string(${value}))`;

/** Requires that each value of a map, which may be missing, is a quantity. */
const amounts = (parent: string, field: string): string =>
  `!has(${parent}.${field}) || ${parent}.${field}.all(name, ${isQuantity(`${parent}.${field}[name]`)})`;

/** Returns CEL rules that refuse quantities in the spec of a VMI that KubeVirt could not read. */
export function quantityRules(vmi: string): { expression: string; message: string }[] {
  const { domain, memory, resources } = {
    domain: `${vmi}.domain`,
    memory: `${vmi}.domain.memory`,
    resources: `${vmi}.domain.resources`,
  };
  const sizes = ['guest', 'maxGuest'].map(
    (field) => `!has(${domain}.memory) || !has(${memory}.${field}) || ${isQuantity(`${memory}.${field}`)}`,
  );
  const pages = `!has(${domain}.memory) || !has(${memory}.hugepages) || !has(${memory}.hugepages.pageSize) || ${isQuantity(`${memory}.hugepages.pageSize`)}`;
  const resourceRules = ['requests', 'limits'].map(
    (field) => `!has(${domain}.resources) || ${amounts(resources, field)}`,
  );
  const disks = `${vmi}.?volumes.orValue([]).all(volume, !has(volume.emptyDisk) || ${isQuantity('volume.emptyDisk.capacity')})`;
  return [...sizes, pages, ...resourceRules, disks].map((expression) => ({ expression, message }));
}

/** The same for the disks that a VM has made. */
export const diskQuantityRules = ['storage', 'pvc'].map((kind) => ({
  expression:
    'object.spec.?dataVolumeTemplates.orValue([]).all(disk, ' +
    `!has(disk.spec.${kind}) || !has(disk.spec.${kind}.resources) || ${amounts(`disk.spec.${kind}.resources`, 'requests')})`,
  message,
}));

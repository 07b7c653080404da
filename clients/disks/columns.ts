import type { Stored } from '../../api/objects.ts';
import { sizeOf } from '../../decisions/template/disk-template.ts';
import { keptDiskOf, NO_NUMBER, type KeptDisk } from '../../decisions/template/kept-disk.ts';
import { ageOf, type Cell, type Column } from '../cli/print.ts';
import type { Claim } from './kept.ts';

const column = (header: string, cell: (kept: KeptDisk, claim: Stored<Claim>) => Cell, wide = false): Column => ({
  header,
  cell: (claim) => cell(keptDiskOf(claim.metadata)!, claim),
  wide,
});

export const diskColumns: Column[] = [
  column('NAME', (_kept, { metadata }) => metadata.name),
  column('POOL', ({ pool }) => pool),
  column('NUMBER', ({ number }) => (number === NO_NUMBER ? '<none>' : number)),
  column(
    'SIZE',
    (kept, { status, spec }) =>
      status?.capacity?.storage ??
      spec?.resources?.requests?.storage ??
      (kept.template === null ? null : sizeOf(kept.template)) ??
      '<unknown>',
  ),
  column('REVISION', ({ revision }) => revision ?? '<unknown>'),
  column('KEPT', ({ keptAt }) => ageOf(keptAt)),
  column('AGE', (_kept, { metadata }) => ageOf(metadata.creationTimestamp)),
  column('BY', ({ keptBy }) => keptBy, true),
  column('POOL-UID', ({ poolUid }) => poolUid, true),
];

import { defineSearchAttributeKey, SearchAttributeType } from '@temporalio/common';

/** Search attributes of drover's workflows in Temporal's lists; `drover setup` registers them. */
export const DroverCluster = defineSearchAttributeKey('DroverCluster', SearchAttributeType.KEYWORD);
export const DroverNamespace = defineSearchAttributeKey('DroverNamespace', SearchAttributeType.KEYWORD);
export const DroverPool = defineSearchAttributeKey('DroverPool', SearchAttributeType.KEYWORD);
export const DroverReplicaSet = defineSearchAttributeKey('DroverReplicaSet', SearchAttributeType.KEYWORD);
export const DroverRevision = defineSearchAttributeKey('DroverRevision', SearchAttributeType.KEYWORD);
export const DroverPhase = defineSearchAttributeKey('DroverPhase', SearchAttributeType.KEYWORD);

export const searchAttributes = [
  DroverCluster,
  DroverNamespace,
  DroverPool,
  DroverReplicaSet,
  DroverRevision,
  DroverPhase,
];

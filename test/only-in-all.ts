/**
 * Test files on servers that `npm test` leaves to `npm run test:all`, as globs: packaging, the tools, the simulator,
 * browsers, crashes, and what shows on real servers once more what a faster test of `npm test` holds. Each guarantee
 * and each command keeps a test in `npm test`; `test/api/docs-tests.test.ts` checks the guarantees.
 */
export const ONLY_IN_ALL = [
  'test/{cluster,dev,simulator,upgrade}/**/*.int.test.ts',
  'test/deploy/{chart,monitoring,package,release}/**/*.int.test.ts',
  'test/deploy/{cluster,dashboard,image,namespaced,rights}.int.test.ts',
  'test/clients/dashboard/page/{buttons,drains,operations,outages,page}.int.test.ts',
  'test/clients/dashboard/proxied/browser.int.test.ts',
  'test/clients/{demo,cli/process-end,cli/without-temporal}.int.test.ts',
  'test/integration/tutorial.int.test.ts',
  'test/integration/**/*-{chaos,crash}.int.test.ts',
  'test/integration/healing/{healing-control,healing-metrics}.int.test.ts',
  'test/integration/machine-types/*.int.test.ts',
  'test/integration/operations/restored-etcd.int.test.ts',
  'test/integration/power/start-stop.int.test.ts',
  'test/integration/replica-sets/{both-kinds,replica-set-refusal}.int.test.ts',
  'test/integration/rollout/{rollout-live,rollout-semantics}.int.test.ts',
  'test/integration/servers/{two-clusters,unruly-server}.int.test.ts',
  'test/workflows/healing/*.int.test.ts',
];

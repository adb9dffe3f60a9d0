import { Type } from 'typebox';
import { ChartSource } from '../../../protocol/chart.ts';
import { Deprecation } from '../../catalog/deprecation.ts';
import { RequiredApprovals } from '../../git/git-settings.ts';
import { AnyObject, answerOf, listOf, pageOf, Time } from '../openapi/answers.ts';

export const CatalogEntryAnswer = answerOf('CatalogEntryAnswer', {
  name: Type.String(),
  chart: Type.Object(ChartSource.properties),
  versions: Type.String({ description: 'allowed versions, a semver range' }),
  defaultValues: Type.Optional(AnyObject),
  /** JSON schema of the merged values. */
  valuesSchema: Type.Optional(AnyObject),
  approval: Type.Optional(RequiredApprovals),
  deprecation: Type.Optional(Deprecation),
  credentials: Type.Optional(
    Type.Object(
      { username: Type.String(), setAt: Time },
      { description: 'that its versions are read with a credential; never the credential' },
    ),
  ),
  updatedAt: Time,
});
export const CatalogPageAnswer = pageOf(CatalogEntryAnswer);

/** What was learned of a chart, and when. */
const freshness = {
  fetchedAt: Type.Optional(Time),
  fault: Type.Optional(Type.String({ description: 'why it could not be read the last time' })),
};

export const ChartVersionsAnswer = answerOf('ChartVersionsAnswer', {
  range: Type.String({ description: 'allowed versions, a semver range' }),
  versions: listOf(
    answerOf('ChartVersionAnswer', {
      version: Type.String(),
      appVersion: Type.Optional(Type.String()),
      created: Type.Optional(Type.String()),
      deprecated: Type.Optional(Type.Literal(true)),
      isAllowed: Type.Boolean(),
    }),
  ),
  leftOut: Type.Integer({ description: 'how many others there are that are no semantic versions' }),
  ...freshness,
  checkedAt: Type.Optional(Time),
});

export const UpgradeAnswer = answerOf('UpgradeAnswer', {
  cluster: Type.Object({ id: Type.String(), slug: Type.String() }),
  namespace: Type.String(),
  name: Type.String(),
  catalogEntry: Type.String(),
  version: Type.Optional(Type.String()),
  newestAllowed: Type.Optional(Type.String()),
  isUpgradeAvailable: Type.Boolean(),
  ...freshness,
  deprecated: Type.Optional(Deprecation),
});
export const UpgradePageAnswer = pageOf(UpgradeAnswer);

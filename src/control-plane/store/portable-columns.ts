import {
  DataTypeNode,
  GeneratedNode,
  OperationNodeTransformer,
  RawNode,
  type ColumnDefinitionNode,
  type KyselyPlugin,
  type PluginTransformQueryArgs,
  type PluginTransformResultArgs,
  type QueryResult,
  type RootOperationNode,
  type UnknownRow,
} from 'kysely';

/**
 * Gives the migrations' columns on PostgreSQL the meaning that they have on SQLite: text is compared byte by byte,
 * whatever the database's own collation is, so that lists and cursors sort alike; a whole number has 64 bits; and
 * what counts by itself is an identity column.
 */
export class PortableColumns implements KyselyPlugin {
  readonly #transformer = new Transformer();

  transformQuery(args: PluginTransformQueryArgs): RootOperationNode {
    return this.#transformer.transformNode(args.node);
  }

  async transformResult(args: PluginTransformResultArgs): Promise<QueryResult<UnknownRow>> {
    return args.result;
  }
}

class Transformer extends OperationNodeTransformer {
  protected override transformColumnDefinition(node: ColumnDefinitionNode): ColumnDefinitionNode {
    const { dataType } = node;
    const type = DataTypeNode.is(dataType) ? dataType.dataType : undefined;
    if (type === 'text') return { ...node, dataType: RawNode.createWithSql('text collate "C"') };
    if (type !== 'integer') return node;
    const { autoIncrement, ...rest } = node;
    const bigint = { ...rest, dataType: DataTypeNode.create('bigint') };
    if (autoIncrement !== true) return bigint;
    return { ...bigint, generated: GeneratedNode.create({ identity: true, byDefault: true }) };
  }
}

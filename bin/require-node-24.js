// Evaluated before a program is loaded: an older Node would stop at syntax or a module that it does not know.
const [major] = process.versions.node.split('.');
if (Number(major) < 24) {
  process.stderr.write(
    `Node 24 or newer is needed and this is ${process.versions.node}. ` +
      'The package brings one: start the program with npx, or put node_modules/.bin first in PATH.\n',
  );
  process.exit(2);
}

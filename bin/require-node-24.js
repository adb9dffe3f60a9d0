// Evaluated before a program is loaded: an older Node would stop at syntax or a module that it does not know.
const [major] = process.versions.node.split('.');
if (Number(major) < 24) {
  process.stderr.write(
    `Node 24 or newer is needed and this is ${process.versions.node}. ` +
      'Installed in a folder, the package brings one: start the program with npx there, or put node_modules/.bin first ' +
      'in PATH. Installed with npm install --global it does not: install Node 24, or use the image.\n',
  );
  process.exit(2);
}

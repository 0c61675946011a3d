// swift-tools-version: 6.0
// SPDX-License-Identifier: MIT

import PackageDescription

// Three programs for the terminal, each on another part of PulseKit: the offline queue, sockets, transfers. `./check` runs
// them against a server in Python, and kills them in between.
let package = Package(
    name: "Programs",
    platforms: [.macOS(.v12)],
    dependencies: [.package(name: "PulseKit", path: "../..")],
    targets: ["notes", "chat", "backup"].map { name in
        Target.executableTarget(name: name, dependencies: [.product(name: "PulseKit", package: "PulseKit")])
    },
    swiftLanguageModes: [.v6]
)

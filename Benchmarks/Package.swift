// swift-tools-version: 6.0
// SPDX-License-Identifier: MIT

import PackageDescription

// What the framework itself costs, measured beside what no framework can avoid. `swift run -c release` prints it,
// `./check` only sees that it runs; Docs/Benchmarks.md says what the figures mean.
let package = Package(
    name: "Benchmarks",
    platforms: [.macOS(.v12)],
    dependencies: [.package(name: "PulseKit", path: "..")],
    targets: [
        .target(name: "CAllocations"),
        .executableTarget(
            name: "pulse-benchmarks",
            dependencies: [
                "CAllocations",
                .product(name: "PulseKit", package: "PulseKit"),
                .product(name: "PulseTesting", package: "PulseKit"),
            ]),
    ],
    swiftLanguageModes: [.v6]
)

// swift-tools-version: 6.0
// SPDX-License-Identifier: MIT

import PackageDescription

// The collector beside swift-metrics, in a separate package: no other benchmark needs swift-metrics, and it builds
// quickly. `swift run -c release swift-metrics-contender` prints the figures; Docs/Benchmarks.md explains them.
let package = Package(
    name: "MetricsPeer",
    platforms: [.macOS(.v12)],
    dependencies: [
        .package(name: "PulseKit", path: "../.."),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.5.0"),
    ],
    targets: [
        .executableTarget(
            name: "swift-metrics-contender",
            dependencies: [
                .product(name: "PulseKit", package: "PulseKit"),
                .product(name: "Metrics", package: "swift-metrics"),
            ])
    ],
    swiftLanguageModes: [.v6]
)
